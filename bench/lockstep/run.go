package lockstep

import (
	"fmt"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// Divergence is the first disagreement of two breakers.
type Divergence struct {
	Config       atomicbreaker.Config
	Steps        []string // what was done, the step that differed last
	What         string   // what differed
	Name, Other  string   // who
	Value, Wants string   // and their answers
}

func (d *Divergence) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s differs from %s in %s after step %d\n  %s: %s\n  %s: %s\n", d.Name, d.Other, d.What, len(d.Steps), d.Name, d.Value, d.Other, d.Wants)
	fmt.Fprintf(&text, "configuration: %s\n", describe(d.Config))
	for i, step := range d.Steps {
		fmt.Fprintf(&text, "%4d %s\n", i+1, step)
	}
	return text.String()
}

// describe lists the settings that are not the default.
func describe(c atomicbreaker.Config) string {
	var set []string
	add := func(name string, value any, isSet bool) {
		if isSet {
			set = append(set, fmt.Sprintf("%s:%v", name, value))
		}
	}
	add("Window", c.Window, c.Window != 0)
	add("Buckets", c.Buckets, c.Buckets != 0)
	add("WindowCalls", c.WindowCalls, c.WindowCalls != 0)
	add("MinimumCalls", c.MinimumCalls, c.MinimumCalls != 0)
	add("FailureRate", c.FailureRate, c.FailureRate != 0)
	add("ConsecutiveFailures", c.ConsecutiveFailures, c.ConsecutiveFailures != 0)
	add("SlowCallDuration", c.SlowCallDuration, c.SlowCallDuration != 0)
	add("SlowCallRate", c.SlowCallRate, c.SlowCallRate != 0)
	add("ReadyToTrip", "set", c.ReadyToTrip != nil)
	add("Cooldown", fmt.Sprintf("%+v", c.Cooldown), true)
	add("Recovery", fmt.Sprintf("%+v", c.Recovery), c.Recovery != atomicbreaker.Recovery{})
	add("Classify", "set", c.Classify != nil)
	add("Stripes", c.Stripes, c.Stripes != 0)
	add("Mode", c.Mode, c.Mode != atomicbreaker.Auto)
	return strings.Join(set, " ")
}

// Run reads a program, whose first bytes choose a configuration and whose
// other bytes are operations, and carries it out on two breakers of each
// kind: one that is looked at after every step and one that is left alone, so
// that questions are seen to change nothing. It returns a *Divergence as soon
// as a breaker's answers, views, announcements or calls of user functions
// differ from those of the first. Every string of bytes is a program.
func Run(program []byte, kinds ...Implementation) error {
	head := program[:min(len(program), headerLen)]
	r := &run{steps: decode(program[len(head):])}
	for _, observed := range []bool{true, false} {
		for _, kind := range kinds {
			p := &player{name: kind.Name, observed: observed, clock: new(clock.Manual)}
			if !observed {
				p.name += ", unobserved"
			}
			c, epoch := p.configure(head)
			p.clock.Advance(epoch)
			r.config = c
			c.Clock = p.clock
			b, err := kind.New(c)
			if err != nil {
				return fmt.Errorf("lockstep: the %s breaker does not take the configuration %s: %w", kind.Name, describe(c), err)
			}
			p.b = b
			r.players = append(r.players, p)
		}
	}
	return r.run()
}

type run struct {
	config  atomicbreaker.Config
	players []*player
	steps   []step
	done    []string
}

func (r *run) run() error {
	for _, s := range r.steps {
		if s.kind == toTimer { // the first clock tells when that is
			s.duration = r.players[0].untilTimer(s.duration)
		}
		if err := r.step(s); err != nil {
			return err
		}
	}
	return r.end()
}

// step does the same with every player and compares.
func (r *run) step(s step) error {
	r.done = append(r.done, s.String())
	first := r.players[0]
	wants := first.do(s)
	for _, p := range r.players[1:] {
		if got := p.do(s); got != wants {
			return r.differ(p, "answer", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", wants))
		}
	}
	return r.compare(false)
}

// compare looks at the players, at the end also at those that were not
// observed before.
func (r *run) compare(all bool) error {
	first := r.players[0]
	wants := first.look()
	for _, p := range r.players[1:] {
		switch {
		case len(p.events) != len(first.events):
			return r.differ(p, "announcements", fmt.Sprintf("%+v", tail(p.events)), fmt.Sprintf("%+v", tail(first.events)))
		case len(p.events) > 0 && p.events[len(p.events)-1] != first.events[len(first.events)-1]:
			return r.differ(p, "announcement", fmt.Sprintf("%+v", tail(p.events)), fmt.Sprintf("%+v", tail(first.events)))
		case p.notes != first.notes:
			return r.differ(p, "use of functions", fmt.Sprintf("%+v", p.notes), fmt.Sprintf("%+v", first.notes))
		}
		if p.observed || all {
			if got := p.look(); got != wants {
				return r.differ(p, "view", got.without(wants), wants.without(got))
			}
		}
	}
	return nil
}

func tail(events []atomicbreaker.Transition) []atomicbreaker.Transition {
	return events[max(0, len(events)-2):]
}

func (r *run) differ(p *player, what, value, wants string) error {
	return &Divergence{
		Config: r.config, Steps: r.done, What: what,
		Name: p.name, Other: r.players[0].name, Value: value, Wants: wants,
	}
}

// end settles every ticket, looks at everybody, balances the books, and lets an
// hour pass, after which no timer may run.
func (r *run) end() error {
	if err := r.step(step{kind: landAll}); err != nil {
		return err
	}
	if err := r.compare(true); err != nil {
		return err
	}
	for _, p := range r.players {
		s := p.b.Snapshot()
		if got := s.Succeeded + s.Failed + s.Ignored + s.Cancelled + s.Late; got != p.admitted {
			return r.differ(p, "books", fmt.Sprint(got, " tickets settled"), fmt.Sprint(p.admitted, " tickets handed out"))
		}
		if got := s.Refused(); got != p.refused {
			return r.differ(p, "books", fmt.Sprint(got, " refusals counted"), fmt.Sprint(p.refused, " refusals made"))
		}
	}
	if err := r.step(step{kind: advance, duration: time.Hour}); err != nil {
		return err
	}
	for _, p := range r.players {
		if n := p.clock.Timers(); n != 0 {
			return r.differ(p, "timers", fmt.Sprint(n, " running"), "0 after an idle hour")
		}
	}
	return r.compare(true)
}
