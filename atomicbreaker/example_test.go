package atomicbreaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// The examples run on a clock that stands still until it is told to advance.
// Leave Clock and Jitter out for the ordinary ones.

var errDown = errors.New("connection refused")

func ExampleBreaker_Do() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "payments", ConsecutiveFailures: 3})

	for range 4 {
		err := b.Do(context.Background(), func(ctx context.Context) error {
			return errDown // the call to the dependency
		})
		fmt.Println(err, atomicbreaker.IsRejected(err))
	}
	// Output:
	// connection refused false
	// connection refused false
	// connection refused false
	// atomicbreaker: payments: circuit breaker is open true
}

func ExampleDo() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})

	price, err := atomicbreaker.Do(context.Background(), b, func(ctx context.Context) (int, error) {
		return 42, nil
	})
	fmt.Println(price, err)
	// Output: 42 <nil>
}

func ExampleDoWith() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 1})

	// A status that tells of an overloaded server is a failure, though no error.
	judge := func(status int, err error) atomicbreaker.Outcome {
		if err != nil || status >= 500 {
			return atomicbreaker.Failure
		}
		return atomicbreaker.Success
	}
	status, err := atomicbreaker.DoWith(context.Background(), b, judge, func(ctx context.Context) (int, error) {
		return 503, nil // what the server answered
	})
	fmt.Println(status, err, b.State())
	// Output: 503 <nil> open
}

func ExampleBreaker_Acquire() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 1})

	ticket, err := b.Acquire()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ticket.Cancel() // does nothing once the ticket is settled

	err = errDown // what the call came to
	ticket.Done(context.Background(), err)
	fmt.Println(b.State())
	// Output: open
}

func ExampleBreaker_Ready() {
	backends := []*atomicbreaker.Breaker{
		atomicbreaker.MustNew(atomicbreaker.Config{Name: "a"}),
		atomicbreaker.MustNew(atomicbreaker.Config{Name: "b"}),
	}
	backends[0].Trip()

	for _, b := range backends {
		if !b.Ready() { // a question: it takes no probe's place
			continue
		}
		ticket, err := b.Acquire()
		if err != nil {
			continue // somebody was faster
		}
		fmt.Println("calling", b.Name())
		ticket.Done(context.Background(), nil)
		break
	}
	// Output: calling b
}

func ExampleTicket_ReportAfter() {
	c := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Clock:               c,
		ConsecutiveFailures: 1,
		Cooldown:            atomicbreaker.Cooldown{Jitter: atomicbreaker.Off},
	})

	ticket, _ := b.Acquire()
	// The server answered 503 with Retry-After: 3.
	ticket.ReportAfter(atomicbreaker.Failure, 3*time.Second)

	fmt.Println(b.RetryAfter())
	c.Advance(3 * time.Second)
	fmt.Println(b.State())
	// Output:
	// 3s
	// half-open
}

func ExampleTransitions() {
	logged := func(t atomicbreaker.Transition) {
		fmt.Printf("%s: %v to %v: %v, %d of %d failed\n", t.Name, t.From, t.To, t.Reason, t.Counts.Failures, t.Counts.Calls)
	}
	opened := 0
	counted := func(t atomicbreaker.Transition) {
		if t.To == atomicbreaker.StateOpen {
			opened++
		}
	}
	c := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "payments",
		Clock:               c,
		ConsecutiveFailures: 2,
		Cooldown:            atomicbreaker.Cooldown{Jitter: atomicbreaker.Off},
		OnTransition:        atomicbreaker.Transitions(logged, counted),
	})

	for _, err := range []error{nil, errDown, errDown} {
		_ = b.Do(context.Background(), func(context.Context) error { return err })
	}
	c.Advance(500 * time.Millisecond) // the cooldown ends
	_ = b.Do(context.Background(), func(context.Context) error { return nil })
	c.Advance(2 * time.Second) // the probe window was not full for a second
	fmt.Println("opened", opened, "times")
	// Output:
	// payments: closed to open: streak, 2 of 3 failed
	// payments: open to half-open: cooldown, 0 of 0 failed
	// payments: half-open to closed: recovered, 0 of 1 failed
	// opened 1 times
}

// Shadow shows what a breaker would do before it is allowed to do it.
func ExampleBreaker_SetMode_shadow() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 3, Mode: atomicbreaker.Shadow})

	for range 10 {
		_ = b.Do(context.Background(), func(context.Context) error { return errDown })
	}
	s := b.Snapshot()
	fmt.Println(s.State, "refused", s.Refused(), "would refuse", s.WouldRefuse)

	b.SetMode(atomicbreaker.Auto)
	fmt.Println(b.Do(context.Background(), func(context.Context) error { return nil }))
	// Output:
	// open refused 0 would refuse 7
	// atomicbreaker: circuit breaker is open
}

func ExampleConfig_Validate() {
	c := atomicbreaker.Config{FailureRate: 1.5, Window: time.Second, Buckets: 7}
	fmt.Println(c.Validate())
	// Output:
	// atomicbreaker: Config.FailureRate is 1.5, want above 0 to 1, or Off
	// atomicbreaker: Config.Window is 1s with Buckets 7, want a bucket of a whole number of milliseconds, at least 1
}
