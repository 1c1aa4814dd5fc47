package breakerpage

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Command is what a user of the page wants done to a breaker.
type Command struct {
	Breaker string // its name
	Action  Action
	Mode    atomicbreaker.Mode // of SetMode, otherwise zero

	// Reason is why, in the user's words: printable, 1 to 200 bytes.
	Reason string

	// For is how long a mode is to last, 1 s to 168 h, after which the breaker
	// goes back to the mode that it had before; 0: until another command.
	For time.Duration
}

// Action is what a Command does: Trip, Reset or SetMode of a Breaker.
type Action string

const (
	Trip    Action = "trip"
	Reset   Action = "reset"
	SetMode Action = "mode"
)

const (
	maxForm     = 64 << 10 // bytes of a command's form
	maxSelected = 200      // breakers of one command
	maxReason   = 200      // bytes
	longestFor  = 7 * 24 * time.Hour
)

// command carries out a POST: the form's action, mode, reason and for, for each
// breaker that it names. Either all of them are commanded or none.
func (p *Page) command(w http.ResponseWriter, r *http.Request) {
	if err := p.origins.Check(r); err != nil {
		http.Error(w, "commands from other origins are refused", http.StatusForbidden)
		return
	}
	if p.options.Authorize == nil {
		http.Error(w, "this page is read-only", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "not a form: "+err.Error(), http.StatusBadRequest)
		return
	}
	commands, err := commandsOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	user, now := p.user(r), time.Now()
	var refused error
	breakers := make([]*atomicbreaker.Breaker, len(commands))
	for i, c := range commands {
		if err := p.options.Authorize(r, c); err != nil {
			p.audit(entryOf(c, user, r.RemoteAddr, now, "refused: "+printableReason(err.Error())))
			refused = errors.Join(refused, err)
			continue
		}
		breakers[i] = p.breaker(c.Breaker)
	}
	if refused != nil {
		http.Error(w, "not allowed: "+refused.Error(), http.StatusForbidden)
		return
	}
	if i := slices.Index(breakers, nil); i >= 0 {
		http.Error(w, fmt.Sprintf("there is no breaker named %q", commands[i].Breaker), http.StatusNotFound)
		return
	}
	for i, c := range commands {
		e := entryOf(c, user, r.RemoteAddr, now, "done")
		p.holds.carryOut(breakers[i], e, p.audit)
		p.audit(e)
	}
	p.sample() // so that it shows at once
	w.WriteHeader(http.StatusNoContent)
}

// commandsOf reads the form of the body; what is in the URL does not count. It
// tells of every fault at once.
func commandsOf(r *http.Request) ([]Command, error) {
	form := r.PostForm
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	c := Command{Action: Action(form.Get("action")), Reason: form.Get("reason")}
	switch c.Action {
	case Trip, Reset:
		if form.Has("for") {
			fault("for is for modes: trip and reset do not last")
		}
	case SetMode:
		if err := c.Mode.UnmarshalText([]byte(form.Get("mode"))); err != nil {
			faults = append(faults, err)
		}
		var err error
		if c.For, err = lasting(c.Mode, form.Get("for")); err != nil {
			faults = append(faults, err)
		}
	default:
		fault("unknown action %q, want trip, reset or mode", c.Action)
	}
	if err := reasonFault(c.Reason); err != nil {
		faults = append(faults, err)
	}
	names := form["breaker"]
	switch {
	case len(names) == 0:
		fault("no breaker is named")
	case len(names) > maxSelected:
		fault("%d breakers are named, want 1 to %d", len(names), maxSelected)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	slices.Sort(names)
	var commands []Command
	for _, name := range slices.Compact(names) {
		c.Breaker = name
		commands = append(commands, c)
	}
	return commands, nil
}

// lasting is how long a mode is to last. A forced mode must say it, because a
// force that everybody has forgotten is an outage of its own.
func lasting(mode atomicbreaker.Mode, text string) (time.Duration, error) {
	switch {
	case text == "forever":
		return 0, nil
	case text == "" && mode != atomicbreaker.ForcedOpen && mode != atomicbreaker.ForcedClosed:
		return 0, nil
	case mode == atomicbreaker.Auto:
		return 0, errors.New("auto has no end: leave out for")
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > longestFor {
		return 0, fmt.Errorf("for is %.40q, want 1s to %v, or forever", text, longestFor)
	}
	return d, nil
}

func reasonFault(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("reason is empty: say why, in 1 to 200 bytes")
	case len(reason) > maxReason:
		return fmt.Errorf("reason has %d bytes, want 1 to %d", len(reason), maxReason)
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, func(r rune) bool { return !strconv.IsPrint(r) }):
		return errors.New("reason has characters that cannot be seen")
	}
	return nil
}

// breaker returns the breaker of a name that the last reading met, or nil.
func (p *Page) breaker(name string) *atomicbreaker.Breaker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line := p.board.rows[name]; line != nil {
		return line.breaker
	}
	return nil
}
