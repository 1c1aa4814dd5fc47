package atomicbreaker_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// Breakers that opened in one instant do not probe in one: jitter spreads the
// ends of their cooldowns evenly, both ways, and the same draws give the same
// instants. Off makes them exact.
//
// Field: S105, reddit/baseplate.go#697 (2025-05-09); failsafe-go/failsafe-go#142 (2026-07-29);
// bolshakov/stoplight#364 (2025-06-25); failsafe-lib/failsafe#70 (2016).
func TestFieldJitterSpreadsTheHerd(t *testing.T) {
	probes := func(jitter float64) (at []time.Duration) {
		rnd := rand.New(rand.NewPCG(5, 5))
		m := new(clock.Manual)
		c := streakConfig()
		c.Cooldown = ab.Cooldown{Min: 10 * time.Second, Max: 10 * time.Second, Factor: 1, Jitter: jitter}
		draws := 0
		c.Rand = func() float64 { draws++; return rnd.Float64() }
		herd := make([]*patient, 1000)
		defer runtime.KeepAlive(herd)
		for i := range herd {
			p := examineOn(t, m, c)
			herd[i] = p
			p.trip()
			p.refused(ab.ErrOpen)
			m.Advance(0) // the breaker sets its timer before the test does
			m.AfterFunc(p.RetryAfter(), func() {
				p.acquire()
				at = append(at, m.Now())
			})
		}
		m.Advance(time.Minute)
		if jitter != ab.Off && draws != 2000 { // each probe is given up, and its breaker opens once more
			t.Errorf("%d draws for 2000 openings", draws)
		}
		return at
	}
	for _, at := range probes(ab.Off) {
		if at != 10*time.Second {
			t.Fatalf("without jitter a probe went at %v, want 10 s", at)
		}
	}
	first := probes(0.5)
	var perSecond [20]int
	perInstant := map[time.Duration]int{}
	for _, at := range first {
		if at < 5*time.Second || at > 15*time.Second {
			t.Fatalf("a probe went at %v, want 5 to 15 s", at)
		}
		perSecond[at/time.Second]++
		perInstant[at/(10*time.Millisecond)]++
	}
	for s, n := range perSecond[5:15] {
		if n < 60 || n > 140 { // 100 expected, standard deviation below 10
			t.Errorf("%d of 1000 probes went in second %d, want about 100", n, s+5)
		}
	}
	for at, n := range perInstant {
		if n > 20 {
			t.Errorf("%d of 1000 probes went within the 10 ms from %v", n, at*10*time.Millisecond)
		}
	}
	for i, at := range probes(0.5) {
		if at != first[i] {
			t.Fatal("the same draws gave other instants")
		}
	}
}

// One lucky success does not close where three in a row are asked for: each
// failure between begins the count anew.
//
// Field: S107, bolshakov/stoplight#375 (2025-07-01); rubyist/circuitbreaker#63 (2021-12-26);
// fabfuel/circuitbreaker#71.
func TestFieldOneLuckySuccessDoesNotClose(t *testing.T) {
	c := streakConfig()
	c.Recovery.Probes, c.Recovery.Successes = 3, 3
	p := examine(t, c)
	p.trip()
	for i, ok := range []bool{true, false, true, true, false, true, true, true} {
		if p.State() == ab.StateOpen {
			p.clock.Advance(5 * time.Second)
		}
		p.is(ab.StateHalfOpen)
		switch {
		case !ok:
			p.call(ab.Failure)
			p.is(ab.StateOpen)
		case i == 7:
			p.call(ab.Success)
			p.is(ab.StateClosed)
		default:
			p.call(ab.Success)
		}
	}
}

// By default a breaker closes on the load that it then admits: what is
// admitted grows with the answers, what is not is told that the breaker is
// recovering, and the close itself lets nobody in who was kept out before.
//
// Field: S109, traefik/traefik#3858 (2018-09-05), PR#8907 (2022-04-05): gradual recovery in
// vulcand/oxy.
func TestFieldClosingIsNoFlood(t *testing.T) {
	flood := func(c ab.Config, latency time.Duration) (refusedAtFirst, before, after int) {
		p := examine(t, c)
		p.trip()
		admitted := map[time.Duration]int{} // per 100 ms
		refused := map[time.Duration]int{}
		const tenth = 100 * time.Millisecond
		var closed time.Duration
		for range 20_000 { // one call a millisecond
			p.clock.Advance(time.Millisecond)
			now := p.clock.Now()
			ticket, err := p.Acquire()
			switch {
			case err == nil:
				admitted[now/tenth]++
				p.clock.AfterFunc(latency, func() { ticket.Report(ab.Success) })
			case errors.Is(err, ab.ErrProbeLimit):
				refused[now/tenth]++
			case p.State() != ab.StateOpen:
				t.Fatalf("at %v, %v: %v", now, p.State(), err)
			}
			if closed == 0 && p.State() == ab.StateClosed {
				closed = now / tenth
			}
		}
		if closed == 0 {
			t.Fatal("never closed")
		}
		for i := time.Duration(1); i <= 5; i++ {
			before += admitted[closed-i]
			after += admitted[closed+i]
		}
		p.story("open(streak) half-open(cooldown) closed(recovered)")
		return refused[5_000/100], before, after
	}
	c := streakConfig()
	c.Recovery = ab.Recovery{}
	for _, latency := range []time.Duration{50 * time.Millisecond, 400 * time.Millisecond} {
		refused, before, after := flood(c, latency)
		if refused < 50 {
			t.Errorf("%v: %d of 100 calls refused when the first probe went, want most", latency, refused)
		}
		if before != 500 || after != 500 {
			t.Errorf("%v: %d calls admitted in the half second before the close and %d in that after it, want all 500",
				latency, before, after)
		}
	}
	// The classic rule has no ramp, as documented: one success lets all in.
	if _, before, after := flood(streakConfig(), 50*time.Millisecond); before > 50 || after != 500 {
		t.Errorf("classic: %d admitted before the close and %d after it, want hardly any and all", before, after)
	}
}
