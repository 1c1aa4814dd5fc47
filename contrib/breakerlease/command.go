package breakerlease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// An Action is what a [Command] does to a breaker.
type Action string

const (
	Trip         Action = "trip"          // Breaker.Trip
	Reset        Action = "reset"         // Breaker.Reset
	ForcedOpen   Action = "forced-open"   // Breaker.SetMode, for a while
	ForcedClosed Action = "forced-closed" // Breaker.SetMode, for a while
	Shadow       Action = "shadow"        // Breaker.SetMode, for a while
	Auto         Action = "auto"          // Breaker.SetMode: ends the three above
)

// modes are the actions that set a mode.
var modes = map[Action]atomicbreaker.Mode{
	ForcedOpen: atomicbreaker.ForcedOpen, ForcedClosed: atomicbreaker.ForcedClosed,
	Shadow: atomicbreaker.Shadow, Auto: atomicbreaker.Auto,
}

// A Command is what somebody wants all breakers of a name to do, in all
// processes of the fleet that accept commands.
type Command struct {
	Name   string // of the breakers
	Action Action
	For    time.Duration // of ForcedOpen, ForcedClosed and Shadow: how long, 1 s to 24 h; then the mode is Auto again
	By     string        // who commands it; must be set
	Why    string        // the reason, for the log; must be set
}

func (c Command) validate() error {
	var faults []error
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerlease: Command."+format, args...))
	}
	mode, isMode := modes[c.Action]
	lasts := isMode && mode != atomicbreaker.Auto
	if c.Name == "" || len(c.Name) > 256 {
		add("Name has %d bytes, want 1 to 256", len(c.Name))
	}
	if !isMode && c.Action != Trip && c.Action != Reset {
		add("Action is %q, want trip, reset, forced-open, forced-closed, shadow or auto", c.Action)
	}
	if lasts && (c.For < time.Second || c.For > 24*time.Hour) {
		add("For is %v, want 1s to 24h", c.For)
	} else if !lasts && c.For != 0 {
		add("For is %v with Action %q, want 0: it does not last", c.For, c.Action)
	}
	if c.By == "" || len(c.By) > 256 {
		add("By has %d bytes, want 1 to 256: who says so", len(c.By))
	}
	if c.Why == "" || len(c.Why) > 512 {
		add("Why has %d bytes, want 1 to 512", len(c.Why))
	}
	return errors.Join(faults...)
}

// Command tells all members, and this one, to carry out a command. One that
// lasts is told again every ten seconds for as long as it lasts and this Fleet is open,
// so that members that come later carry it out too. It returns when the Store has taken it; there is no word from the
// members but their own logs. The error joins every fault of the command.
func (f *Fleet) Command(ctx context.Context, c Command) error {
	if err := c.validate(); err != nil {
		return err
	}
	if !f.o.Commands {
		return errors.New("breakerlease: FleetOptions.Commands is false, want true to give and take commands")
	}
	m := message{from: f.id, kind: command, id: rand.Text(), name: c.Name, command: c}
	until := time.Now().Add(c.For)
	if err := f.store.Publish(ctx, m.String()); err != nil {
		return err
	}
	f.obey(m)
	if c.For > 0 {
		f.start(func() { f.repeat(m, until) })
	}
	return nil
}

// repeat tells a command again until it is over, or another has come for its name.
func (f *Fleet) repeat(m message, until time.Time) {
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-time.After(helloEvery):
		}
		m.command.For = time.Until(until).Truncate(time.Millisecond)
		t := f.team(m.name)
		t.mu.Lock()
		latest := t.latest == m.id
		t.mu.Unlock()
		if m.command.For < time.Second || !latest {
			return
		}
		ctx, cancel := context.WithTimeout(f.ctx, storeTimeout)
		_ = f.store.Publish(ctx, m.String())
		cancel()
	}
}

// maxCommands is how many commands of a name are remembered, so that none is
// carried out twice.
const maxCommands = 64

// obey carries out a command that is new, and tells of it.
func (f *Fleet) obey(m message) {
	if !f.o.Commands || m.command.validate() != nil {
		return
	}
	t := f.team(m.name)
	t.mu.Lock()
	for _, id := range t.obeyed {
		if id == m.id {
			t.mu.Unlock()
			return
		}
	}
	t.obeyed = append(t.obeyed, m.id)
	if len(t.obeyed) > maxCommands {
		t.obeyed = t.obeyed[1:]
	}
	t.latest = m.id
	t.mu.Unlock()
	c := m.command
	f.log.commanded(c)
	if f.o.OnCommand != nil {
		f.o.OnCommand(c)
	}
	mode, isMode := modes[c.Action]
	t.each(func(b *atomicbreaker.Breaker) {
		switch {
		case isMode:
			b.SetMode(mode)
		case c.Action == Trip:
			b.Trip()
		default:
			b.Reset()
		}
	})
	if c.For > 0 {
		f.start(func() { f.lift(t, m.id, mode, c.For) })
	}
}

// lift ends a mode when its time is over or the Fleet is closed, unless a
// later command, or somebody here, has set another.
func (f *Fleet) lift(t *team, id string, mode atomicbreaker.Mode, after time.Duration) {
	select {
	case <-f.ctx.Done():
	case <-time.After(after):
	}
	t.mu.Lock()
	latest := t.latest == id
	t.mu.Unlock()
	if !latest {
		return
	}
	t.each(func(b *atomicbreaker.Breaker) {
		if b.Snapshot().Mode == mode {
			b.SetMode(atomicbreaker.Auto)
		}
	})
}
