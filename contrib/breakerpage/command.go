package breakerpage

import (
	"fmt"
	"net/http"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Command is what a user of the page wants done to a breaker.
type Command struct {
	Breaker string // its name
	Action  Action
	Mode    atomicbreaker.Mode // of SetMode, otherwise zero
}

// Action is what a Command does: Trip, Reset or SetMode of a Breaker.
type Action string

const (
	Trip    Action = "trip"
	Reset   Action = "reset"
	SetMode Action = "mode"
)

// maxForm is the longest form of a command: a name is at most 256 bytes.
const maxForm = 4096

// command carries out a POST: the form's action, breaker and mode.
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
	c, err := commandOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := p.options.Authorize(r, c); err != nil {
		http.Error(w, "not allowed: "+err.Error(), http.StatusForbidden)
		return
	}
	b := p.breaker(c.Breaker)
	if b == nil {
		http.Error(w, fmt.Sprintf("there is no breaker named %q", c.Breaker), http.StatusNotFound)
		return
	}
	switch c.Action {
	case Trip:
		b.Trip()
	case Reset:
		b.Reset()
	case SetMode:
		b.SetMode(c.Mode)
	}
	p.sample() // so that it shows at once
	w.WriteHeader(http.StatusNoContent)
}

// commandOf reads the form of the body; what is in the URL does not count.
func commandOf(r *http.Request) (Command, error) {
	c := Command{Breaker: r.PostForm.Get("breaker"), Action: Action(r.PostForm.Get("action"))}
	switch c.Action {
	case Trip, Reset:
	case SetMode:
		if err := c.Mode.UnmarshalText([]byte(r.PostForm.Get("mode"))); err != nil {
			return c, err
		}
	default:
		return c, fmt.Errorf("unknown action %q, want trip, reset or mode", c.Action)
	}
	if !r.PostForm.Has("breaker") {
		return c, fmt.Errorf("no breaker is named")
	}
	return c, nil
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
