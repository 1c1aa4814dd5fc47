package atomicbreaker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Retrying around the breaker: each try counts, so that the breaker learns
// what the server did, and a refusal ends the retrying. This is the order to
// prefer.
func Example_retryAround() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 3})
	tries := 0
	call := func(context.Context) error { tries++; return errDown }

	var err error
	for range 5 {
		if err = b.Do(context.Background(), call); err == nil || atomicbreaker.IsRejected(err) {
			break
		}
		// Wait here, longer each time and not for the same time in every client.
	}
	fmt.Println(tries, "tries,", b.Snapshot().Failed, "failures;", b.State())
	// Output: 3 tries, 3 failures; open
}

// Retrying inside the breaker: an operation counts once, by its last try. The
// breaker then judges operations, and does not stop the tries of one.
func Example_retryInside() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 3})
	tries := 0
	call := func() error {
		if tries++; tries%3 != 0 {
			return errDown
		}
		return nil
	}

	for range 4 {
		b.Do(context.Background(), func(context.Context) (err error) {
			for range 3 {
				if err = call(); err == nil {
					break
				}
			}
			return err
		})
	}
	s := b.Snapshot()
	fmt.Println(tries, "tries,", s.Succeeded, "successes,", s.Failed, "failures")
	// Output: 12 tries, 4 successes, 0 failures
}

// Hedging: each target has its breaker, and each try its context. The loser
// is cancelled, which is Ignored: it was not slow, it was not needed any more.
func Example_hedging() {
	replicas, _ := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{})
	asked := make(chan struct{})
	fetch := func(ctx context.Context, replica string) error {
		if replica == "a" { // hangs
			close(asked)
			<-ctx.Done()
			return ctx.Err()
		}
		<-asked // the hedge comes a little later
		return nil
	}

	var tries sync.WaitGroup
	won := make(chan string, 2)
	ctx, cancel := context.WithCancel(context.Background())
	for _, replica := range []string{"a", "b"} {
		tries.Go(func() {
			err := replicas.Get(replica).Do(ctx, func(ctx context.Context) error { return fetch(ctx, replica) })
			if err == nil {
				won <- replica
			}
		})
	}
	fmt.Println("answer from", <-won)
	cancel()
	tries.Wait()
	a, b := replicas.Get("a").Snapshot(), replicas.Get("b").Snapshot()
	fmt.Println("a:", a.Failed, "failed,", a.Ignored, "ignored; b:", b.Succeeded, "succeeded")
	// Output:
	// answer from b
	// a: 0 failed, 1 ignored; b: 1 succeeded
}

// A limit on concurrency belongs outside the breaker: what it turns away was
// never a call and must not count. Where it can only be asked afterwards,
// Cancel gives the claim back.
func Example_concurrencyLimit() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	limit := make(chan struct{}, 1)
	limit <- struct{}{} // somebody has the only place
	errBusy := errors.New("too many calls")

	outside := func() error {
		select {
		case limit <- struct{}{}:
			defer func() { <-limit }()
		default:
			return errBusy
		}
		return b.Do(context.Background(), func(context.Context) error { return nil })
	}
	inside := func() error {
		ticket, err := b.Acquire()
		if err != nil {
			return err
		}
		select {
		case limit <- struct{}{}:
			defer func() { <-limit }()
		default:
			ticket.Cancel()
			return errBusy
		}
		ticket.Done(context.Background(), nil)
		return nil
	}
	fmt.Println(outside())
	fmt.Println(inside())
	s := b.Snapshot()
	fmt.Println(s.Succeeded+s.Failed, "counted,", s.Cancelled, "cancelled")
	// Output:
	// too many calls
	// too many calls
	// 0 counted, 1 cancelled
}

// A fallback belongs outside: the breaker must see the failure that made it
// necessary. Inside, its answer would count as a success of a server that is
// down, and the breaker would never open.
func Example_fallback() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 3})
	wrong := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 3})
	load := func(context.Context) (string, error) { return "", errDown }

	for range 4 {
		price, err := atomicbreaker.Do(context.Background(), b, load)
		if err != nil {
			price = "yesterday's price"
		}
		_ = price

		atomicbreaker.Do(context.Background(), wrong, func(ctx context.Context) (string, error) {
			price, err := load(ctx)
			if err != nil {
				return "yesterday's price", nil // a success that there was not
			}
			return price, nil
		})
	}
	fmt.Println("outside:", b.State())
	fmt.Println("inside: ", wrong.State())
	// Output:
	// outside: open
	// inside:  closed
}

// A breaker per shard: one that is down leaves the others alone. The key is a
// value of its parts, never a text made of them.
func Example_perShard() {
	type shard struct {
		cluster string
		number  int
	}
	shards, _ := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[shard]{
		Config: atomicbreaker.Config{Name: "db", ConsecutiveFailures: 3},
		Configure: func(s shard, c atomicbreaker.Config) atomicbreaker.Config {
			if s.cluster == "archive" { // slow by nature
				c.ConsecutiveFailures = 10
			}
			return c
		},
	})
	for range 5 {
		for _, s := range []shard{{"live", 1}, {"live", 11}, {"archive", 1}} {
			shards.Get(s).Do(context.Background(), func(context.Context) error {
				if s.number == 1 {
					return errDown
				}
				return nil
			})
		}
	}
	fmt.Println("live 1:   ", shards.Get(shard{"live", 1}).State())
	fmt.Println("live 11:  ", shards.Get(shard{"live", 11}).State())
	fmt.Println("archive 1:", shards.Get(shard{"archive", 1}).State())
	// Output:
	// live 1:    open
	// live 11:   closed
	// archive 1: closed
}

// A write that failed may have been done: a breaker does not change that. But
// a refusal says for certain that nothing was sent, so that the write can be
// kept for later. And a write that the server rejects is a success for the
// breaker: the server is well.
func Example_write() {
	errConflict := errors.New("version conflict")
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		ConsecutiveFailures: 2,
		Classify: func(err error) atomicbreaker.Outcome {
			if errors.Is(err, errConflict) {
				return atomicbreaker.Success
			}
			return atomicbreaker.Failure
		},
	})
	for i, result := range []error{errConflict, context.DeadlineExceeded, context.DeadlineExceeded, nil} {
		err := b.Do(context.Background(), func(context.Context) error { return result })
		switch {
		case err == nil:
			fmt.Println(i, "done")
		case atomicbreaker.IsRejected(err):
			fmt.Println(i, "not sent, kept for later")
		case errors.Is(err, errConflict):
			fmt.Println(i, "rejected by the server")
		default:
			fmt.Println(i, "perhaps done: look before trying again")
		}
	}
	// Output:
	// 0 rejected by the server
	// 1 perhaps done: look before trying again
	// 2 perhaps done: look before trying again
	// 3 not sent, kept for later
}

// TestRetryThatWaitsAsTold: the refusal tells when another try makes sense.
func TestRetryThatWaitsAsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := atomicbreaker.MustNew(atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}})
		b.Trip()
		call := func() error { return b.Do(t.Context(), func(context.Context) error { return nil }) }
		var refusal *atomicbreaker.RejectedError
		if err := call(); !errors.As(err, &refusal) {
			t.Fatalf("got %v, want a refusal", err)
		}
		time.Sleep(refusal.RetryAfter())
		synctest.Wait()
		if err := call(); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}
