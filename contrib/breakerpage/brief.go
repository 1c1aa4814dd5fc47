package breakerpage

import (
	"net/http"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// brief is what a page tells a Fleet, at ?format=brief. Fields are only ever
// added, so that processes of different versions understand each other.
type brief struct {
	Time     time.Time      `json:"time"`
	Breakers []briefBreaker `json:"breakers"`
}

type briefBreaker struct {
	Name     string               `json:"name"`
	State    atomicbreaker.State  `json:"state"`
	Mode     atomicbreaker.Mode   `json:"mode"`
	Changed  time.Time            `json:"changed"`
	Reason   atomicbreaker.Reason `json:"reason"`
	Refused  uint64               `json:"refused"`
	Outage   *briefOutage         `json:"outage,omitempty"`
	Error    string               `json:"error,omitempty"` // the kind of the last one
	Failures float64              `json:"failures"`        // share in the rolling window
}

type briefOutage struct {
	Began    time.Time            `json:"began"`
	Reason   atomicbreaker.Reason `json:"reason"`
	Reopened uint64               `json:"reopened"`
}

func (p *Page) brief(w http.ResponseWriter) {
	b := brief{Time: time.Now(), Breakers: []briefBreaker{}}
	for _, r := range p.watch.Read(nil) {
		b.Breakers = append(b.Breakers, briefOf(&r))
	}
	writeJSON(w, b)
}

func briefOf(r *breakerwatch.Reading) briefBreaker {
	b := briefBreaker{
		Name: r.Name, State: r.State, Mode: r.Mode, Changed: r.Changed, Reason: r.Reason, Refused: r.Refused(), Failures: r.Rolling.FailureRate(),
	}
	if o := r.Outage; o != nil {
		b.Outage = &briefOutage{o.Began, o.Reason, o.Reopened}
	}
	if e, ok := r.Errors(); ok {
		b.Error = e.Last.Kind.String()
	}
	return b
}
