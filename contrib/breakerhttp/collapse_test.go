package breakerhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/atomicbreaker/breaker/contrib/internal/overload"
)

type dependencyKey struct{}

// TestOverloadedBackendRecoversBehindTheProxy: callers that only ask whether
// the backend is ready, and go away if it is not, must hold the closing of its
// breaker back as refused ones do. Else a few probes close it while hundreds
// wait, and the backend is overloaded again, for ever.
func TestOverloadedBackendRecoversBehindTheProxy(t *testing.T) {
	// The backend is the model: what its "network" does is in the context.
	backend := roundTrip(func(r *http.Request) (*http.Response, error) {
		err := r.Context().Value(dependencyKey{}).(func(context.Context) error)(r.Context())
		switch err.(type) {
		case nil:
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		case overload.ErrFull:
			return &http.Response{StatusCode: 500, Body: http.NoBody, Request: r}, nil
		}
		return nil, err
	})
	request := httptest.NewRequest("GET", "/", nil)
	run := func(asks bool) (r overload.Result) {
		synctest.Test(t, func(t *testing.T) {
			pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{"http://backend"}, Transport: breakerhttp.Transport{Base: backend}})
			if err != nil {
				t.Fatal(err)
			}
			proxy := pool.Proxy()
			r = overload.Run(1, func(ctx context.Context, dependency func(context.Context) error) (bool, error) {
				ctx = context.WithValue(ctx, dependencyKey{}, dependency)
				if !asks { // the pool alone, which is much cheaper to run
					resp, err := pool.RoundTrip(request.WithContext(ctx))
					if err == nil && resp.StatusCode != 200 {
						err = overload.ErrFull{}
					}
					return atomicbreaker.IsRejected(err), err
				}
				if !pool.Ready() {
					return true, atomicbreaker.ErrOpen
				}
				w := httptest.NewRecorder()
				proxy.ServeHTTP(w, request.WithContext(ctx))
				switch w.Code {
				case 200:
					return false, nil
				case 503:
					return true, atomicbreaker.ErrOpen
				}
				return false, context.DeadlineExceeded
			})
			if s := pool.Backends()[0].Breaker().State(); s != atomicbreaker.StateClosed {
				t.Errorf("%v at the end, want closed", s)
			}
		})
		return r
	}
	claimed, asked := run(false), run(true)
	t.Logf("refused: %+v", claimed)
	t.Logf("asked:   %+v", asked)
	for _, r := range []overload.Result{claimed, asked} {
		// A classic breaker never recovers from this; see the policy of breakergrpc.
		if r.Recovered == 0 || r.Recovered > 20*time.Second || r.Failed > 1040 {
			t.Errorf("recovered after %v with %d failed calls, want within 20s and 1040", r.Recovered, r.Failed)
		}
	}
	if late := asked.Recovered - claimed.Recovered; late > 3*time.Second {
		t.Errorf("callers that ask first cost %v", late)
	}
}
