package atomicbreaker_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// leaving makes a call whose caller cancels while it runs; the call returns
// what err makes of the context.
func leaving(t *testing.T, b *ab.Breaker, err func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	return b.Do(ctx, func(ctx context.Context) error {
		cancel(errors.New("the user went elsewhere"))
		return err(ctx)
	})
}

// Callers who leave say nothing about the dependency.
//
// Field: S057, tsouza/cerberus#738 (2026-06-09); rubyist/circuitbreaker#42 (2017-03-19);
// cockroachdb/cockroach#35433 (2019-03-05); bestruirui/octopus#210.
func TestFieldCallersWhoLeaveDoNotTrip(t *testing.T) {
	p := examine(t, streakConfig())
	for range 50 {
		err := leaving(t, p.Breaker, context.Context.Err)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Do returned %v, want the cancellation", err)
		}
	}
	p.is(ab.StateClosed)
	p.books(settled{ignored: 50})
	p.rolling(0, 0)
}

// A cancellation is one however deep it is wrapped, and it is the caller's
// only while the caller's own context says so: the same errors under a live
// context are failures.
//
// Field: S059, exaring/hoglet commit 0ced27e (2023-12-29).
func TestFieldWrappedCancellationIsIgnored(t *testing.T) {
	once := fmt.Errorf("read: %w", context.Canceled)
	for _, err := range []error{
		context.Canceled,
		once,
		fmt.Errorf("call: %w", fmt.Errorf("conn: %w", once)),
		&url.Error{Op: "Get", URL: "http://localhost", Err: context.Canceled},
		errors.Join(errors.New("first"), context.Canceled),
	} {
		p := examine(t, streakConfig())
		for range 3 {
			leaving(t, p.Breaker, func(context.Context) error { return err })
		}
		p.books(settled{ignored: 3})
		for range 3 {
			p.Do(t.Context(), func(context.Context) error { return err })
		}
		p.books(settled{ignored: 3, failed: 3})
		p.is(ab.StateOpen)
	}
}

// What the error says does not matter once the caller's context was cancelled:
// it may be the cause given to the cancellation, or a text of the driver's.
//
// Field: S060, ReliablyObserve/loki-vl-proxy#555 (2026-09-15; one request opened the breaker
// for all tenants).
//
// Field: S061, tsouza/cerberus#738 (2026-06-09).
func TestFieldCancelledContextDecidesBeforeTheError(t *testing.T) {
	asked := 0
	c := streakConfig()
	c.Classify = func(error) ab.Outcome { asked++; return ab.Failure }
	p := examine(t, c)
	for _, errOf := range []func(context.Context) error{
		context.Cause,
		func(context.Context) error { return errors.New("operation was canceled") },
	} {
		for range 9 {
			if err := leaving(t, p.Breaker, errOf); err == nil || errors.Is(err, context.Canceled) {
				t.Fatalf("the call returned %v, want an error that does not look like a cancellation", err)
			}
		}
	}
	p.is(ab.StateClosed)
	p.books(settled{ignored: 18})
	if asked != 0 {
		t.Errorf("Classify was asked %d times, want never", asked)
	}
}

// A deadline that passes is a failure, the caller's own too. A call whose
// deadline had passed before it began is neither run nor counted.
//
// Field: S062, cep21/circuit#95 (2020-10-29); zeromicro/go-zero#4112 (2024-04-30).
func TestFieldDeadlineIsNoCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ab.MustNew(streakConfig()) // on the bubble's time
		passed, cancel := context.WithTimeout(t.Context(), -time.Second)
		defer cancel()
		for range 10 {
			err := b.Do(passed, func(context.Context) error {
				t.Error("a call whose deadline had passed was made")
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || ab.IsRejected(err) {
				t.Errorf("Do returned %v, want the context's error", err)
			}
		}
		if got := settledOf(b); got != (settled{}) {
			t.Errorf("calls that were not made are counted: %+v", got)
		}
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			b.Do(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			cancel()
		}
		if got := settledOf(b); got != (settled{failed: 3}) || b.State() != ab.StateOpen {
			t.Errorf("three deadlines passed: %+v and %v, want three failures and open", got, b.State())
		}
	})
}

// A probe that its caller cancels hands its place to the next caller, with no
// new cooldown.
//
// Field: S065, tsouza/cerberus#738 (2026-06-09); monix/monix#1101 (2019-12-29).
func TestFieldCancelledProbeHandsItsPlaceOn(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	ctx, cancel := context.WithCancel(t.Context())
	probe := p.acquire()
	p.at(5.2)
	cancel()
	probe.Done(ctx, errors.New("connection closed"))
	p.is(ab.StateHalfOpen)
	p.places(0, 1)
	p.acquire()
	p.refused(ab.ErrProbeLimit)
	p.story("open(streak) half-open(cooldown)")
}

// The user's rule is asked for errors only: it may use its argument without
// looking whether there is one.
//
// Field: S181, exaring/hoglet commit 8c18e76 (2026-03-26).
func TestFieldClassifyIsNeverAskedForNil(t *testing.T) {
	c := streakConfig()
	c.Classify = func(err error) ab.Outcome {
		if err.Error() == "" { // would panic on nil
			return ab.Ignored
		}
		return ab.Failure
	}
	p := examine(t, c)
	for range 10 {
		if err := p.Do(t.Context(), succeed); err != nil {
			t.Fatal(err)
		}
		p.acquire().Done(context.Background(), nil)
		p.acquire().Done(t.Context(), nil)
	}
	p.books(settled{succeeded: 30})
}

// Ignored outcomes count neither to the minimum of calls nor to a share.
//
// Field: S183, twitter/finagle commits 512894cf5 (2018-02-07), d586bd240 (2020-11-18).
func TestFieldIgnoredCallsDoNotFillTheSample(t *testing.T) {
	for _, after := range []int{0, 4, 9} { // where among the failures they come
		p := examine(t, rateConfig())
		p.calls(after, ab.Failure)
		p.calls(100, ab.Ignored)
		p.calls(9-after, ab.Failure)
		p.is(ab.StateClosed)
		p.rolling(9, 9)
		p.call(ab.Failure)
		p.is(ab.StateOpen)
		p.books(settled{failed: 10, ignored: 100})
	}
}

// An error that the user's rule ignores means the same in every state, and its
// caller gets it as it is.
//
// Field: S184, nodeshift/opossum#389 (2019-12-17), PR#556 and #567 (2021).
func TestFieldIgnoredErrorMeansTheSameEverywhere(t *testing.T) {
	expected, bad := errors.New("expected"), errors.New("bad")
	c := streakConfig()
	c.Classify = func(err error) ab.Outcome {
		if errors.Is(err, expected) {
			return ab.Ignored
		}
		return ab.Failure
	}
	p := examine(t, c)
	do := func(err error) {
		t.Helper()
		if got := p.Do(t.Context(), func(context.Context) error { return err }); got != err {
			t.Errorf("the caller got %v, want the function's own %v", got, err)
		}
	}
	for _, err := range []error{bad, bad, expected, bad} {
		p.is(ab.StateClosed)
		do(err)
	}
	p.is(ab.StateOpen)
	p.at(5)
	do(expected)
	p.is(ab.StateHalfOpen)
	p.places(0, 1)
	do(nil)
	p.is(ab.StateClosed)
}

type duplicateKey struct{ key string }

func (e *duplicateKey) Error() string {
	if e == nil {
		return "no error, but not nil"
	}
	return "duplicate key " + e.key
}

// The user's rule gets the error as it was returned, wrapped, joined or a
// typed nil, and can so keep the errors of a healthy dependency apart.
//
// Field: S185, zeromicro/go-zero#4238 (2024-07-08), #3437 (2023-07-23).
func TestFieldClassifyGetsTheErrorItself(t *testing.T) {
	var none *duplicateKey
	invalid := errors.New("invalid order")
	errs := []error{
		&duplicateKey{"7"},
		fmt.Errorf("insert: %w", &duplicateKey{"7"}),
		errors.Join(errors.New("rollback"), &duplicateKey{"7"}),
		fmt.Errorf("check: %w", invalid),
		none,
	}
	var got error
	c := streakConfig()
	c.Classify = func(err error) ab.Outcome {
		got = err
		if _, ok := errors.AsType[*duplicateKey](err); ok || errors.Is(err, invalid) {
			return ab.Success
		}
		return ab.Failure
	}
	p := examine(t, c)
	for _, err := range errs {
		for range 3 {
			p.acquire().Done(context.Background(), err)
			if got != err {
				t.Errorf("Classify got %v, want %v itself", got, err)
			}
		}
	}
	p.is(ab.StateClosed)
	p.books(settled{succeeded: 15})
}
