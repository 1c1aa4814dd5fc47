// Package readyguarded asks first and claims in the transport.
package readyguarded

import (
	"net/http"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

type client struct {
	breaker   *atomicbreaker.Breaker
	transport *breakerhttp.Transport
	http      *http.Client
}

func newClient() *client {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	return &client{breaker: b, transport: &breakerhttp.Transport{Breaker: b}, http: http.DefaultClient}
}

func (c *client) get(url string) (*http.Response, error) {
	if c.breaker.Ready() {
		return c.http.Get(url)
	}
	return nil, atomicbreaker.ErrOpen
}
