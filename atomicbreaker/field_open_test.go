package atomicbreaker_test

import (
	"sync/atomic"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// Time alone ends the open state: no minimum of calls stands in its way.
//
// Field: S014, ballerina-platform/ballerina-lang#9595 (2018-07-11); compare
// yammer/circuitbox#78 (stuck open, cause not stated).
func TestFieldCooldownEndsWithAnEmptyWindow(t *testing.T) {
	c := rateConfig()
	c.Window = 3 * time.Second
	p := examine(t, c)
	p.calls(10, ab.Failure)
	p.is(ab.StateOpen)
	p.at(6)
	p.acquire()
	p.places(1, 1)
}

// Each opening has a cooldown of its own, counted from that opening.
//
// Field: S016, exaring/hoglet commit 6b42546 (2023-12-28).
func TestFieldFailedProbeBeginsANewCooldown(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	p.call(ab.Failure)
	for _, now := range []float64{5.1, 7, 9.9} {
		p.at(now)
		p.refused(ab.ErrOpen)
		if got, want := p.RetryAfter(), seconds(10-now); got != want {
			t.Errorf("at %v s: %v of the cooldown are left, want %v", now, got, want)
		}
	}
	p.at(10)
	p.acquire()
}

// A breaker's own refusals are no evidence: they are counted as refusals and
// nowhere else.
//
// Field: S017, zeromicro/go-zero#5551 (2026-04-25); Netflix/Hystrix#1034 (2016-01-04).
func TestFieldRefusalsAreNoEvidence(t *testing.T) {
	c := rateConfig()
	c.Window = time.Minute
	p := examine(t, c)
	p.calls(10, ab.Failure)
	for i := range 5000 {
		p.atInstant(time.Duration(i) * time.Millisecond)
		p.refused(ab.ErrOpen)
	}
	p.at(5)
	p.call(ab.Success)
	p.is(ab.StateClosed)
	p.calls(9, ab.Success)
	p.call(ab.Failure)
	p.is(ab.StateClosed)
	p.rolling(10, 1)
	p.books(settled{succeeded: 10, failed: 11})
	if s := p.Snapshot(); s.RefusedOpen != 5000 || s.Refused() != 5000 {
		t.Errorf("%d refusals counted, %d of them while open, want 5000", s.Refused(), s.RefusedOpen)
	}
}

// After any silence the first call is the probe, and nothing has to run
// meanwhile.
//
// Field: S019, LMCache/LMCache#4368 (2026-08-01; 45 hours off after a 50-second stall);
// bazelbuild/bazel#30260 (2026-07-14).
func TestFieldSilenceNeverBecomesAnOutage(t *testing.T) {
	for _, silence := range []time.Duration{162_000 * time.Second, 400 * 24 * time.Hour} {
		p := examine(t, streakConfig())
		p.trip()
		p.at(6)
		if n := p.clock.Timers(); n != 0 {
			t.Errorf("%d timers run in a breaker that waits for a first call", n)
		}
		p.atInstant(silence)
		p.acquire().Report(ab.Success)
		p.is(ab.StateClosed)
		p.story("open(streak) half-open(cooldown) closed(recovered)")
	}
}

// Settings are fixed. Whoever changes them swaps the breaker and, if the old
// one was not closed, trips the new one: a sick dependency gets no flood, and
// the old one's tickets disturb nobody.
//
// Field: S021, resilience4j/resilience4j#2325 (2025-06-20) and PR#2365.
func TestFieldSwappedBreakerStartsWhereToldTo(t *testing.T) {
	old := examine(t, rateConfig())
	old.calls(9, ab.Failure)
	out := old.acquire()

	c := rateConfig()
	c.FailureRate = 0.6
	fresh := examineOn(t, old.clock, c)
	fresh.call(ab.Failure)
	fresh.rolling(1, 1) // the nine belong to the old one
	out.Report(ab.Failure)
	old.is(ab.StateOpen)
	fresh.is(ab.StateClosed)

	c.Recovery.Probes, c.Recovery.Successes = 3, 3
	second := examineOn(t, old.clock, c)
	second.Trip()
	second.refused(ab.ErrOpen)
	second.at(5)
	second.call(ab.Success)
	third := examineOn(t, old.clock, c)
	if second.State() != ab.StateClosed {
		third.Trip()
	}
	third.at(9.9)
	third.refused(ab.ErrOpen)
	third.at(10)
	third.calls(3, ab.Success)
	third.is(ab.StateClosed)
	third.books(settled{succeeded: 3})
}

// Whatever goes on around it, a breaker works by the one set of settings that
// it was made with: swapping breakers and changing the Config that one was
// made of never shows as a failure.
//
// Field: S022, cep21/circuit#159 (2026-08-18); cep21/circuit#150 (2026-02-19).
func TestFieldSettingsAreReadOnce(t *testing.T) {
	long := streakConfig()
	long.ConsecutiveFailures, long.SlowCallDuration = 1, time.Hour
	short := streakConfig()
	short.ConsecutiveFailures, short.Cooldown.Min, short.SlowCallDuration = 1, time.Millisecond, time.Millisecond
	p, q := examine(t, long), examine(t, short)
	var current atomic.Pointer[ab.Breaker]
	current.Store(p.Breaker)
	var done atomic.Int64
	crowd(17, func(i int) {
		if i == 0 {
			for n := 0; done.Load() < 16; n++ {
				long.SlowCallDuration, long.ConsecutiveFailures = -5, -5 // not the breaker's any more
				current.Store([]*ab.Breaker{p.Breaker, q.Breaker}[n%2])
			}
			return
		}
		defer done.Add(1)
		for range 2000 {
			if err := current.Load().Do(t.Context(), succeed); err != nil {
				t.Error(err)
			}
		}
	})
	for _, x := range []*patient{p, q} {
		x.story("")
		if s := x.Snapshot(); s.Failed+s.Slow+s.Late+s.Refused() != 0 {
			t.Errorf("calls that all went well are counted as %+v", s)
		}
	}
	if got := settledOf(p.Breaker).succeeded + settledOf(q.Breaker).succeeded; got != 16*2000 {
		t.Errorf("%d successes counted, want %d", got, 16*2000)
	}
}
