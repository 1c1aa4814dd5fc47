package breakerhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// turning is a context whose Err panics from its second answer on.
type turning struct {
	context.Context
	asked int
}

func (c *turning) Err() error {
	if c.asked++; c.asked > 1 {
		panic("context")
	}
	return nil
}

type hollowBody struct{}

func (hollowBody) Read([]byte) (int, error) { panic("body") }
func (hollowBody) Close() error             { return nil }

// A method of the user's that panics while a call is judged makes a Failure, of
// a call and of a probe, and the panic passes through.
func TestPanicWhileJudgingIsAFailureAndPassesThrough(t *testing.T) {
	request := httptest.NewRequest("GET", "http://example.com/", nil)
	answers := func(status int, body io.ReadCloser) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: body}, nil
		})
	}
	for name, call := range map[string]func(b *atomicbreaker.Breaker){
		"typed nil as error": func(b *atomicbreaker.Breaker) {
			base := roundTrip(func(*http.Request) (*http.Response, error) { return nil, (*net.OpError)(nil) })
			_, _ = (&breakerhttp.Transport{Breaker: b, Base: base}).RoundTrip(request)
		},
		"context of a client": func(b *atomicbreaker.Breaker) {
			r := request.WithContext(&turning{Context: context.Background()})
			_, _ = (&breakerhttp.Transport{Breaker: b, Base: answers(500, http.NoBody)}).RoundTrip(r)
		},
		"body": func(b *atomicbreaker.Breaker) {
			resp, err := (&breakerhttp.Transport{Breaker: b, Base: answers(200, hollowBody{}), JudgeBody: true}).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close() // which is no answer any more
			_, _ = resp.Body.Read(nil)
		},
		"context of a server": func(b *atomicbreaker.Breaker) {
			h := &breakerhttp.Handler{Breaker: b, Next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
			h.ServeHTTP(httptest.NewRecorder(), request.WithContext(&turning{Context: context.Background(), asked: 1}))
		},
		"Classify of a server": func(b *atomicbreaker.Breaker) {
			h := &breakerhttp.Handler{Breaker: b, Next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
			h.Classify = func(int, http.Header) atomicbreaker.Outcome { panic("Classify") }
			h.ServeHTTP(httptest.NewRecorder(), request)
		},
	} {
		h := newHarness(t, false, answer(200))
		for _, probe := range []bool{false, true} {
			h.guard(t, atomicbreaker.Config{})
			if probe {
				h.breaker.Trip()
				h.clock.Advance(h.breaker.RetryAfter())
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: the panic did not pass through", name)
					}
				}()
				call(h.breaker)
			}()
			s := h.breaker.Snapshot()
			if s.Failed != 1 || s.Succeeded+s.Ignored+s.Cancelled+s.Late != 0 || s.ProbesInFlight != 0 {
				t.Errorf("%s, probe %v: %+v", name, probe, s)
			}
		}
	}
}
