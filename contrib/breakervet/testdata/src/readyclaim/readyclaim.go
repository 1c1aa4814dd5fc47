// Package readyclaim makes a breaker and only ever asks it.
package readyclaim

import (
	"context"
	"fmt"
	"net/http"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

type client struct {
	breaker *atomicbreaker.Breaker
	http    *http.Client
}

func newClient() *client {
	return &client{breaker: atomicbreaker.MustNew(atomicbreaker.Config{}), http: http.DefaultClient}
}

func (c *client) get(url string) (*http.Response, error) {
	if c.breaker.Ready() { // want `Ready is a question: the call that it lets through is not claimed`
		return c.http.Get(url)
	}
	return nil, atomicbreaker.ErrOpen
}

func (c *client) send(ctx context.Context, send func(context.Context) error) error {
	if !c.breaker.Ready() { // want `Ready is a question`
		return atomicbreaker.ErrOpen
	}
	return send(ctx)
}

// ServeHTTP tells an operator, which is what Ready is for.
func (c *client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.breaker.Ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready")
		return
	}
	fmt.Fprintln(w, "ready")
}

func (c *client) any(others []*client) *client {
	for _, o := range others {
		if o.breaker.Ready() {
			return o
		}
	}
	return nil
}
