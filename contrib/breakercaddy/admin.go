package breakercaddy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/caddyserver/caddy/v2"
)

// Admin adds endpoints to Caddy's admin API, which is for operators alone:
//
//	GET  /atomicbreaker/list                       every breaker and its figures
//	GET  /atomicbreaker/history?since=<number>     the latest changes of state, oldest first
//	POST /atomicbreaker/trip?name=<name>           opens a breaker
//	POST /atomicbreaker/reset?name=<name>          closes it, with an empty window
//	POST /atomicbreaker/mode?name=<name>&mode=<mode>  auto, shadow, forced-open or forced-closed
//
// A command answers with the breaker as it then is. A breaker's name is that
// of its set, if that has one, a space, and the upstream's address. Of sets without a name
// that have the same upstream only one breaker can be named: name the sets.
type Admin struct{}

// CaddyModule is for Caddy.
func (Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.atomicbreaker", New: func() caddy.Module { return new(Admin) }}
}

// Routes is for Caddy.
func (Admin) Routes() []caddy.AdminRoute {
	get, post := http.MethodGet, http.MethodPost
	return []caddy.AdminRoute{
		{Pattern: "/atomicbreaker/list", Handler: only(get, list)},
		{Pattern: "/atomicbreaker/history", Handler: only(get, history)},
		{Pattern: "/atomicbreaker/trip", Handler: only(post, command(func(b *atomicbreaker.Breaker, _ *http.Request) error { b.Trip(); return nil }))},
		{Pattern: "/atomicbreaker/reset", Handler: only(post, command(func(b *atomicbreaker.Breaker, _ *http.Request) error { b.Reset(); return nil }))},
		{Pattern: "/atomicbreaker/mode", Handler: only(post, command(setMode))},
	}
}

func only(method string, f func(http.ResponseWriter, *http.Request) error) caddy.AdminHandler {
	return caddy.AdminHandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != method {
			return caddy.APIError{HTTPStatus: http.StatusMethodNotAllowed, Err: fmt.Errorf("method %s is not allowed, want %s", r.Method, method)}
		}
		return f(w, r)
	})
}

func list(w http.ResponseWriter, _ *http.Request) error { return answer(w, watch.Read(nil)) }

// change is how a change of state is told.
type change struct {
	Number uint64                `json:"number"`
	Time   string                `json:"time"`
	Name   string                `json:"name"`
	From   atomicbreaker.State   `json:"from"`
	To     atomicbreaker.State   `json:"to"`
	Reason atomicbreaker.Reason  `json:"reason"`
	Counts *atomicbreaker.Counts `json:"counts,omitempty"`
}

func history(w http.ResponseWriter, r *http.Request) error {
	var since uint64
	if text := r.FormValue("since"); text != "" {
		var err error
		if since, err = strconv.ParseUint(text, 10, 64); err != nil {
			return bad(fmt.Errorf("since is %q, want the number of a change", text))
		}
	}
	changes := []change{}
	for _, e := range watch.Events(since) {
		c := change{Number: e.Number, Time: e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), Name: e.Name, From: e.From, To: e.To, Reason: e.Reason}
		if e.Counts != (atomicbreaker.Counts{}) {
			c.Counts = &e.Counts
		}
		changes = append(changes, c)
	}
	return answer(w, changes)
}

func command(do func(*atomicbreaker.Breaker, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.FormValue("name")
		for _, reading := range watch.Read(nil) {
			if reading.Name != name {
				continue
			}
			if err := do(reading.Breaker, r); err != nil {
				return bad(err)
			}
			return answer(w, reading.Breaker.Snapshot())
		}
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: fmt.Errorf("no breaker is named %q; see /atomicbreaker/list", name)}
	}
}

func setMode(b *atomicbreaker.Breaker, r *http.Request) error {
	var m atomicbreaker.Mode
	if err := m.UnmarshalText([]byte(r.FormValue("mode"))); err != nil {
		return fmt.Errorf("mode is %q, want auto, shadow, forced-open or forced-closed", r.FormValue("mode"))
	}
	b.SetMode(m)
	return nil
}

func bad(err error) error { return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: err} }

func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}
