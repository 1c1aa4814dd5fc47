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

// One breaker for each dependency, and another answer while it refuses.
func Example() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
	stock := func(ctx context.Context, sku string) (int, error) {
		return 0, errDown // the call to the dependency
	}

	lastKnown, sent := 7, 0
	for range 12 {
		n, err := atomicbreaker.Do(context.Background(), b, func(ctx context.Context) (int, error) {
			sent++
			return stock(ctx, "4711")
		})
		if atomicbreaker.IsRejected(err) {
			n = lastKnown // nothing was sent
		}
		_ = n
	}
	fmt.Println(sent, "calls were sent; the breaker is", b.State())
	// Output: 10 calls were sent; the breaker is open
}

func ExampleNew() {
	b, err := atomicbreaker.New(atomicbreaker.Config{
		Name:        "inventory",
		Window:      time.Minute,
		FailureRate: 0.25,
	})
	fmt.Println(b.State(), err)

	_, err = atomicbreaker.New(atomicbreaker.Config{FailureRate: 25, Window: time.Microsecond})
	fmt.Println(err)
	// Output:
	// closed <nil>
	// atomicbreaker: Config.Window is 1µs, want 1ms to 24h0m0s; is the unit missing? 1000*time.Millisecond
	// atomicbreaker: Config.FailureRate is 25, want above 0 to 1, or Off; it is a share, not per cent
}

// In a package variable: a mistake in the settings ends the program when it starts.
func ExampleMustNew() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
	fmt.Println(b.Name(), b.State())
	// Output: inventory closed
}

// A breaker for each host: one that is down does not stop calls to the others.
func ExampleNewGroup() {
	hosts, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{
		Config: atomicbreaker.Config{Name: "shard", ConsecutiveFailures: 2},
		Max:    1000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_ = hosts.Get("a.example").Do(context.Background(), func(context.Context) error { return errDown })
	}
	fmt.Println(hosts.Get("a.example").Name(), "is", hosts.Get("a.example").State())
	fmt.Println(hosts.Get("b.example").Name(), "is", hosts.Get("b.example").State())
	// Output:
	// shard a.example is open
	// shard b.example is closed
}

func ExampleIsRejected() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
	b.Trip()
	err := b.Do(context.Background(), func(context.Context) error { return nil })
	err = fmt.Errorf("stock of 4711: %w", err)

	fmt.Println(atomicbreaker.IsRejected(err))
	fmt.Println(errors.Is(err, atomicbreaker.ErrOpen))
	var rejected *atomicbreaker.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(rejected.Name(), "may be asked again in a moment:", rejected.RetryAfter() > 0)
	}
	// Output:
	// true
	// true
	// inventory may be asked again in a moment: true
}

// What an operator sees.
func ExampleBreaker_Snapshot() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory", ConsecutiveFailures: 2})
	for range 3 {
		_ = b.Do(context.Background(), func(context.Context) error { return errDown })
	}
	s := b.Snapshot()
	fmt.Println(s.Name, "is", s.State, "because of", s.Reason)
	fmt.Println(s.Failed, "failed,", s.Refused(), "refused")
	// Output:
	// inventory is open because of streak
	// 2 failed, 1 refused
}

// What an operator commands.
func ExampleBreaker_Trip() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
	b.Trip() // opens; it recovers by itself
	fmt.Println(b.State())
	b.Reset() // closes, with empty counts
	fmt.Println(b.State())
	b.SetMode(atomicbreaker.ForcedOpen) // until the mode is changed
	fmt.Println(b.State(), b.Snapshot().Mode)
	// Output:
	// open
	// closed
	// open forced-open
}

// An error that is an answer does not count against the dependency.
func ExampleConfig_classify() {
	errNotFound := errors.New("not found")
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		ConsecutiveFailures: 2,
		Classify: func(err error) atomicbreaker.Outcome {
			if errors.Is(err, errNotFound) {
				return atomicbreaker.Success
			}
			return atomicbreaker.Failure
		},
	})
	for range 5 {
		_ = b.Do(context.Background(), func(context.Context) error { return errNotFound })
	}
	fmt.Println(b.State(), b.Snapshot().Succeeded)
	// Output: closed 5
}

// The rule of most other breakers: three probes one after the other, all must succeed.
func ExampleConfig_classicRecovery() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Recovery: atomicbreaker.Recovery{Probes: 3, Concurrent: 1},
		Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1},
	})
	fmt.Println(b.State())
	// Output: closed
}

func ExampleTicket_Report() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	ticket, err := b.Acquire()
	if err != nil {
		return
	}
	// A message queue has delivered the message later, on another goroutine.
	fmt.Println(ticket.Report(atomicbreaker.Success))
	fmt.Println(ticket.Report(atomicbreaker.Failure), "a ticket counts once")
	// Output:
	// true
	// false a ticket counts once
}

func ExampleTicket_Cancel() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	ticket, err := b.Acquire()
	if err != nil {
		return
	}
	ticket.Cancel() // the call was not made after all
	fmt.Println(b.Snapshot().Cancelled)
	// Output: 1
}

// A stream is judged by its beginning where that matters: a probe's place is free
// for the next call.
func ExampleTicket_Answered() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	ticket, err := b.AcquireContext(context.Background())
	if err != nil {
		return
	}
	ticket.Answered()                      // the first message is here
	ticket.Done(context.Background(), nil) // the stream has ended
	fmt.Println(b.Snapshot().Succeeded)
	// Output: 1
}

func ExampleBreaker_AcquireContext() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()

	ticket, err := b.AcquireContext(ctx) // it sees how long the caller waits
	if err != nil {
		fmt.Println(err)
		return
	}
	err = nil // what the call came to
	fmt.Println(ticket.Done(ctx, err))
	// Output: true
}

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
	// atomicbreaker: Config.FailureRate is 1.5, want above 0 to 1, or Off; it is a share, not per cent
	// atomicbreaker: Config.Window is 1s with Buckets 7, want a bucket of a whole number of milliseconds, at least 1
}
