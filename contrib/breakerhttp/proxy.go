package breakerhttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/local"
)

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

// ErrorHandler is for [httputil.ReverseProxy].ErrorHandler. It answers
//
//   - a refusal as [WriteRefusal] does, with 503 and a Retry-After that name
//     neither backend nor breaker; a pool without a member that takes requests, and a proxy without
//     descriptors, ports or buffers, with 503;
//   - a request whose body is over a limit, by [http.MaxBytesError], with 413;
//   - one that cannot be sent for another reason of its own, and a client that has
//     left, with 400;
//   - a backend that gave no answer in time, by a timeout of the backend's transport,
//     [PoolConfig].ResponseTimeout or the request's deadline, with 504;
//   - everything else with 502.
func ErrorHandler(w http.ResponseWriter, r *http.Request, err error) {
	if atomicbreaker.IsRejected(err) {
		WriteRefusal(w, err)
		return
	}
	w.WriteHeader(StatusOf(r.Context(), err))
}

// StatusOf is the status with which a proxy answers a request under ctx to which no
// server gave an answer, because of err: see [ErrorHandler].
func StatusOf(ctx context.Context, err error) int {
	var timeout net.Error
	switch {
	case atomicbreaker.IsRejected(err), errors.Is(err, ErrNoBackend), local.Exhausted(err):
		return http.StatusServiceUnavailable
	case isA[*http.MaxBytesError](err):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrRequest), errors.Is(ctx.Err(), context.Canceled):
		return http.StatusBadRequest
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
