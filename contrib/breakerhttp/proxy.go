package breakerhttp

import (
	"net/http"
	"net/http/httputil"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// StatusClientClosedRequest is what [ErrorHandler] answers a client that has
// left: nobody reads it but logs and middleware. No standard names it; nginx
// began to use it.
const StatusClientClosedRequest = 499

// Proxy returns a reverse proxy in front of the pool. Its fields may be
// changed before it is used: Rewrite, which adds X-Forwarded-For, -Host and
// -Proto in place of the client's own, may do anything but choose the
// backend; Transport must lead to the pool. ModifyResponse is called for
// answers only, never for a backend that cannot be dialled or a body that breaks off: judge
// health by [PoolConfig].Transport.
//
// The proxy answers as [ErrorHandler] says. A protocol upgrade is passed on.
func (p *Pool) Proxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetXForwarded() },
		Transport:    p,
		ErrorHandler: ErrorHandler,
	}
}

// ErrorHandler is for [httputil.ReverseProxy].ErrorHandler: a refusal is
// answered as [WriteRefusal] does, with 503 and a Retry-After; a client that
// has left with 499; everything else with 502.
func ErrorHandler(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Context().Err() != nil:
		w.WriteHeader(StatusClientClosedRequest)
	case atomicbreaker.IsRejected(err):
		WriteRefusal(w, err)
	default:
		w.WriteHeader(http.StatusBadGateway)
	}
}
