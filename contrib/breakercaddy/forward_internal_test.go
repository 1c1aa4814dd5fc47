package breakercaddy

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// able is a transport that can do all that Caddy asks for.
type able struct {
	http.RoundTripper
	tls, h2c bool
	ops      *headers.HeaderOps
}

var errNoTLS = errors.New("no certificate")

func (a *able) TLSEnabled() bool                                  { return a.tls }
func (a *able) EnableTLS(*reverseproxy.TLSConfig) error           { a.tls = true; return errNoTLS }
func (a *able) EnableH2C() error                                  { a.h2c = true; return nil }
func (a *able) DefaultBufferSizes() (int64, int64)                { return 7, 9 }
func (a *able) ProxyProtocolEnabled() bool                        { return true }
func (a *able) OverrideHealthCheckScheme(u *url.URL, port string) { u.Scheme = "h" + port }
func (a *able) RequestHeaderOps() *headers.HeaderOps              { return a.ops }
func (a *able) RequiresContentLength() bool                       { return true }

// TestEveryQuestionIsPassedOn: Caddy asks the transport it was given, which
// is the guard; an answer that is not the guarded transport's breaks https
// upstreams, h2c, PROXY protocol or FastCGI without a word.
func TestEveryQuestionIsPassedOn(t *testing.T) {
	inner := &able{ops: new(headers.HeaderOps)}
	tr := &Transport{inner: inner}
	if tr.TLSEnabled() || tr.EnableTLS(nil) != errNoTLS || !tr.TLSEnabled() {
		t.Error("TLS")
	}
	if tr.EnableH2C() != nil || !inner.h2c {
		t.Error("h2c")
	}
	if a, b := tr.DefaultBufferSizes(); a != 7 || b != 9 {
		t.Error("buffer sizes")
	}
	if !tr.ProxyProtocolEnabled() || !tr.RequiresContentLength() || tr.RequestHeaderOps() != inner.ops {
		t.Error("PROXY protocol, content length or header operations")
	}
	u := new(url.URL)
	if tr.OverrideHealthCheckScheme(u, "80"); u.Scheme != "h80" {
		t.Error("health check scheme")
	}
}

func TestTransportThatCanDoNothingMore(t *testing.T) {
	tr := &Transport{inner: http.DefaultTransport}
	a, b := tr.DefaultBufferSizes()
	u := new(url.URL)
	tr.OverrideHealthCheckScheme(u, "80")
	if tr.TLSEnabled() || tr.EnableTLS(nil) == nil || tr.EnableH2C() != nil || a != 0 || b != 0 ||
		tr.ProxyProtocolEnabled() || tr.RequiresContentLength() || tr.RequestHeaderOps() != nil || *u != (url.URL{}) {
		t.Error("an answer differs from what Caddy does where the method is missing")
	}
}
