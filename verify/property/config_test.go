package property

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// FuzzConfig takes any configuration: Validate does not panic, New accepts
// exactly what Validate does, and what is accepted behaves.
func FuzzConfig(f *testing.F) {
	type d = int64
	add := func(name string, window d, buckets, calls, minimum int, rate float64, streak int, slow d, slowRate float64,
		coolMin, coolMax d, factor, jitter float64, probes, successes, concurrent int, quiet, timeout d, stripes int, mode uint8, ops []byte) {
		f.Add(name, window, buckets, calls, minimum, rate, streak, slow, slowRate, coolMin, coolMax, factor, jitter,
			probes, successes, concurrent, quiet, timeout, stripes, mode, ops)
	}
	ops := []byte("\x00\x05\x0a\x0f\x14\x19\x1e\x23\x28\x2d\x32\x37 the quick brown fox jumps over the lazy dog")
	add("", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ops)
	add("classic", 0, 0, 20, 5, 0.25, 3, -1, 0, 1e6, 5e9, 2, -1, 5, 3, 2, 1e9, 3e10, 1, 0, ops)
	add("slow", 6e10, 6, 0, 1, 1, -1, 1e6, 0.1, 5e8, 5e8, 1, 0.5, 0, 0, 0, 1e6, 1e6, 256, 3, ops)
	add("\xff", -1, 129, 1025, -2, 1.5, 1<<40, 1, -1, 864e11, 1, 17, 1, 1, 2, 3, -5, 0, 3, 4, ops)

	f.Fuzz(func(t *testing.T, name string, window d, buckets, calls, minimum int, rate float64, streak int, slow d, slowRate float64,
		coolMin, coolMax d, factor, jitter float64, probes, successes, concurrent int, quiet, timeout d, stripes int, mode uint8, ops []byte) {
		c := atomicbreaker.Config{
			Name: name, Window: time.Duration(window), Buckets: buckets, WindowCalls: calls, MinimumCalls: minimum, FailureRate: rate,
			ConsecutiveFailures: streak, SlowCallDuration: time.Duration(slow), SlowCallRate: slowRate,
			Cooldown: atomicbreaker.Cooldown{Min: time.Duration(coolMin), Max: time.Duration(coolMax), Factor: factor, Jitter: jitter},
			Recovery: atomicbreaker.Recovery{Probes: probes, Successes: successes, Concurrent: concurrent,
				Quiet: time.Duration(quiet), ProbeTimeout: time.Duration(timeout)},
			Stripes: stripes, Mode: atomicbreaker.Mode(mode),
		}
		m := new(clock.Manual)
		c.Clock = m
		var told []atomicbreaker.Transition
		c.OnTransition = func(t atomicbreaker.Transition) { told = append(told, t) }
		fault := c.Validate()
		b, err := atomicbreaker.New(c)
		if (fault == nil) != (err == nil) || (b == nil) != (err != nil) {
			t.Fatalf("Validate says %v, New %v", fault, err)
		}
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.Contains(line, "Config.") || !strings.Contains(line, "want ") {
					t.Errorf("%q names no field or no range", line)
				}
			}
			return
		}
		u := &user{b: b, m: m, c: c}
		for _, op := range ops[:min(len(ops), 200)] {
			if err := u.op(op); err != nil {
				t.Fatal(err)
			}
		}
		if err := u.rest(&told); err != nil {
			t.Fatal(err)
		}
	})
}

// user is one goroutine that uses a breaker and keeps its own books.
type user struct {
	b *atomicbreaker.Breaker
	m *clock.Manual
	c atomicbreaker.Config

	out                       []*atomicbreaker.Ticket
	admitted, refused, resets uint64
	last                      atomicbreaker.Snapshot
}

func (u *user) op(op byte) error {
	before := u.b.Snapshot()
	switch arg := int(op / 16); op % 16 {
	case 0, 1, 2, 3, 4:
		if err := u.acquire(before); err != nil {
			return err
		}
	case 5, 6, 7, 8, 9:
		if len(u.out) > 0 {
			i := arg % len(u.out)
			t := u.out[i]
			u.out = append(u.out[:i], u.out[i+1:]...)
			outcome := [...]atomicbreaker.Outcome{atomicbreaker.Success, atomicbreaker.Failure, atomicbreaker.Failure, atomicbreaker.Ignored}[arg%4]
			if !t.Report(outcome) || t.Cancel() {
				return errors.New("a ticket was not settled exactly once")
			}
		}
	case 10, 11, 12:
		u.m.Advance(time.Millisecond << arg)
	case 13:
		u.b.Trip()
	case 14:
		u.b.Reset()
		u.resets++
	case 15:
		u.b.SetMode(atomicbreaker.Mode(arg % 4))
	}
	return u.after(before)
}

func (u *user) acquire(before atomicbreaker.Snapshot) error {
	ready := u.b.Ready()
	t, err := u.b.Acquire()
	if ready != (err == nil) {
		return fmt.Errorf("Ready said %v, Acquire %v", ready, err)
	}
	if err != nil {
		u.refused++
		switch {
		case !atomicbreaker.IsRejected(err):
			return fmt.Errorf("refused with %v", err)
		case before.State == atomicbreaker.StateClosed, before.Mode == atomicbreaker.Shadow:
			return fmt.Errorf("a breaker that is %v and %v refused", before.State, before.Mode)
		}
		return nil
	}
	u.admitted++
	u.out = append(u.out, &t)
	auto := before.Mode != atomicbreaker.Shadow
	switch {
	case auto && before.State == atomicbreaker.StateOpen:
		return errors.New("an open breaker admitted a call")
	case auto && before.State == atomicbreaker.StateHalfOpen && before.ProbesInFlight >= before.ProbeWindow:
		return fmt.Errorf("a probe was admitted with %d in flight and a window of %d", before.ProbesInFlight, before.ProbeWindow)
	}
	return nil
}

// after checks one step of a single goroutine.
func (u *user) after(before atomicbreaker.Snapshot) error {
	s := u.b.Snapshot()
	if s != u.b.Snapshot() {
		return errors.New("Snapshot changed what it shows")
	}
	jitter, least := u.c.Cooldown.Jitter, u.c.Cooldown.Min
	if jitter == 0 {
		jitter = 0.25
	}
	if least == 0 {
		least = 500 * time.Millisecond
	}
	shortest := time.Duration(float64(least)*(1-max(jitter, 0))) - 1
	if before.State == atomicbreaker.StateOpen && s.State == atomicbreaker.StateHalfOpen && before.Mode != atomicbreaker.ForcedOpen && s.At-before.Since < shortest {
		return fmt.Errorf("half-open %v after the opening, want at least %v", s.At-before.Since, shortest)
	}
	if s.State == atomicbreaker.StateOpen && s.Mode != atomicbreaker.ForcedOpen && s.RetryAfter < time.Millisecond {
		return fmt.Errorf("open with RetryAfter %v", s.RetryAfter)
	}
	u.last = s
	return nil
}

func (u *user) rest(told *[]atomicbreaker.Transition) error {
	for _, t := range u.out {
		t.Cancel()
	}
	u.m.Advance(0)
	s := u.b.Snapshot()
	if got := s.Succeeded + s.Failed + s.Ignored + s.Cancelled + s.Late; got != u.admitted {
		return fmt.Errorf("%d outcomes of %d tickets", got, u.admitted)
	}
	if s.Refused() != u.refused {
		return fmt.Errorf("%d refusals counted, %d given", s.Refused(), u.refused)
	}
	for range 3 { // a window, a cooldown, and the quiet after it
		u.m.Advance(50 * time.Hour)
	}
	s = u.b.Snapshot()
	if s.State == atomicbreaker.StateOpen && s.Mode != atomicbreaker.ForcedOpen {
		return errors.New("open for ever")
	}
	if n := u.m.Timers(); n != 0 {
		return fmt.Errorf("an idle breaker has %d timers", n)
	}
	from, gen, silent := atomicbreaker.StateClosed, uint32(0), uint64(0)
	if u.c.Mode == atomicbreaker.ForcedOpen {
		from = atomicbreaker.StateOpen
	}
	for _, t := range *told {
		if t.From != from || t.To == from || t.Generation <= gen {
			return fmt.Errorf("announced %v to %v, generation %d, after %v and %d", t.From, t.To, t.Generation, from, gen)
		}
		silent += uint64(t.Generation - gen - 1)
		from, gen = t.To, t.Generation
	}
	silent += uint64(s.Generation - gen)
	if from != s.State || silent > u.resets {
		return fmt.Errorf("%v at the end, announced %v; %d silent generations, %d Resets", s.State, from, silent, u.resets)
	}
	return nil
}
