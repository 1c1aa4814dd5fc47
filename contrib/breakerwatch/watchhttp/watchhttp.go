// Package watchhttp reports to a breakerwatch.Watch what went wrong with HTTP exchanges.
//
// Use it when the metrics or the page should show which errors a breaker's HTTP calls
// end with. A first program:
//
//	package main
//
//	import (
//		"fmt"
//		"net/http"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerhttp"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch/watchhttp"
//	)
//
//	func main() {
//		var watch breakerwatch.Watch
//		b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "stock"}))
//		client := &http.Client{Transport: &breakerhttp.Transport{
//			Breaker: b,
//			Base:    &watchhttp.Transport{Watch: &watch, Name: b.Name()},
//		}}
//		_, err := client.Get("http://stock.example/4711")
//		last, _ := watch.LastError("stock")
//		fmt.Println(err, last.Kind, last.Text)
//	}
//
// Put the [Transport] where the exchanges are made, inside the breaker's.
package watchhttp

import (
	"fmt"
	"net/http"

	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// Transport is an http.RoundTripper that reports errors and statuses of
// failing servers. It changes nothing: requests and responses pass as they are. It
// judges by itself what is an error, whatever the breaker makes of it, so its
// counts may be higher than the breaker's failures.
//
//   - An error is of the kind that breakerwatch.KindOf tells; one whose request
//     was cancelled by its caller is KindCancelled.
//   - Statuses 500 to 599 except 501 and 505 are KindStatus, but 503 with a
//     Retry-After and 429 are KindLimited.
//
// A Transport may be used concurrently; its fields must not change once it is
// in use.
type Transport struct {
	// Base makes the exchanges. Default: http.DefaultTransport.
	Base http.RoundTripper

	// Watch gets the reports. Required.
	Watch *breakerwatch.Watch

	// Name is the breaker's.
	Name string

	// NameFor, if not nil, returns the name of the breaker that guards a
	// request, instead of Name. It may run concurrently and must not change the
	// request.
	NameFor func(*http.Request) string
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(r)
	if kind, what := verdict(resp, err); what != nil {
		name := t.Name
		if t.NameFor != nil {
			name = t.NameFor(r)
		}
		t.Watch.Failure(name, kind, what)
	}
	return resp, err
}

// verdict is what went wrong, or nil.
func verdict(resp *http.Response, err error) (breakerwatch.Kind, error) {
	if err != nil {
		return breakerwatch.KindOf(err), err
	}
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return breakerwatch.KindLimited, statusError(s)
	case s >= 500 && s <= 599 && s != http.StatusNotImplemented && s != http.StatusHTTPVersionNotSupported:
		return breakerwatch.KindStatus, statusError(s)
	}
	return 0, nil
}

// statusError is a status as text.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("status %d %s", int(s), http.StatusText(int(s)))
}
