package breakertest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/atomicbreaker/breaker/contrib/breakertest"
)

// prints is a test of the examples: it prints what a test would have said.
type prints struct{ testing.TB }

func (prints) Helper()                           {}
func (prints) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (prints) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

var t prints // in a test of your own this is its *testing.T

// Stock is code to be tested: it answers from memory while the breaker refuses.
type Stock struct {
	breaker *atomicbreaker.Breaker
	ask     func(context.Context) (int, error)
	last    int
}

func (s *Stock) Count(ctx context.Context) (int, error) {
	n, err := atomicbreaker.Do(ctx, s.breaker, s.ask)
	if errors.Is(err, atomicbreaker.ErrOpen) {
		return s.last, nil
	}
	if err == nil {
		s.last = n
	}
	return n, err
}

// The code under test falls back while the breaker is open, and asks again after it.
func Example() {
	b := breakertest.New(t, breakertest.Open, atomicbreaker.Config{Name: "stock"})
	asked := 0
	stock := &Stock{breaker: b.Breaker, last: 7, ask: func(context.Context) (int, error) { asked++; return 12, nil }}

	fmt.Println(stock.Count(context.Background()))
	b.AdvanceToReady()
	fmt.Println(stock.Count(context.Background()))
	b.WantOutcomes(breakertest.Outcomes{Succeeded: 1, Refused: 1})
	fmt.Println("asked", asked)
	// Output:
	// 7 <nil>
	// 12 <nil>
	// asked 1
}

// A plan makes the dependency fail, and the breaker open.
func ExamplePlan() {
	b := breakertest.New(t, breakertest.NearlyOpen, atomicbreaker.Config{})
	plan := b.Plan(breakertest.Fail(1, errors.New("connection reset")).After(200 * time.Millisecond))
	stock := &Stock{breaker: b.Breaker, last: 7, ask: breakertest.Func[int](plan, nil)}

	fmt.Println(stock.Count(context.Background()))
	fmt.Println(stock.Count(context.Background()))
	b.WantTransitions(atomicbreaker.StateOpen)
	fmt.Println("asked", plan.Calls())
	// Output:
	// 0 connection reset
	// 7 <nil>
	// asked 1
}

// A client of HTTP, without a server.
func ExamplePlan_RoundTripper() {
	b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{ConsecutiveFailures: 2})
	plan := b.Plan(breakertest.Respond(2, http.StatusServiceUnavailable, http.Header{"Retry-After": {"3"}}))
	client := &http.Client{Transport: &breakerhttp.Transport{Breaker: b.Breaker, Base: plan.RoundTripper(nil)}}
	for range 3 {
		if resp, err := client.Get("http://billing.test"); err != nil {
			fmt.Println(errors.Is(err, atomicbreaker.ErrOpen), b.RetryAfter())
		} else {
			fmt.Println(resp.StatusCode)
			resp.Body.Close()
		}
	}
	// Output:
	// 503
	// 503
	// true 3s
}

// What an assertion prints when it fails.
func ExampleBreaker_WantState() {
	b := breakertest.New(t, breakertest.NearlyOpen, atomicbreaker.Config{Name: "stock", ConsecutiveFailures: 3})
	_ = b.Do(context.Background(), func(context.Context) error { return errors.New("down") })
	b.Advance(time.Second)
	b.WantState(atomicbreaker.StateClosed)
	// Output:
	// the breaker is half-open, want closed
	// what happened to the breaker "stock":
	//         0s  closed -> open: streak, 3 of 3 failed, 0 slow
	//      500ms  open -> half-open: cooldown
	//         1s  now half-open, 0 of 1 probes in flight; 1 failed
}

// A breaker in any state, in one line.
func ExampleNew() {
	b := breakertest.New(t, breakertest.HalfOpen, atomicbreaker.Config{Name: "stock"})
	fmt.Println(b.State())
	// Output: half-open
}

// A plan without a breaker: the first call fails, the second passes.
func ExampleNewPlan() {
	plan := breakertest.NewPlan(breakertest.Fail(1, errors.New("connection reset")), breakertest.Pass(1))
	ask := breakertest.Func[int](plan, func(context.Context) (int, error) { return 12, nil })
	fmt.Println(ask(context.Background()))
	fmt.Println(ask(context.Background()))
	// Output:
	// 0 connection reset
	// 12 <nil>
}
