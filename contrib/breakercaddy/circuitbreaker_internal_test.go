package breakercaddy

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/caddyserver/caddy/v2"
)

// TestHalfOpenHookIsRationed: OK is asked by many and answered with yes once
// in an interval; asking takes no probe's place.
func TestHalfOpenHookIsRationed(t *testing.T) {
	m := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: m})
	c := &CircuitBreaker{ProbeInterval: caddy.Duration(time.Hour), breaker: b, base: time.Now()}
	b.Trip()
	if c.OK() {
		t.Error("OK while open")
	}
	m.Advance(time.Second)
	var yes atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if c.OK() {
					yes.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if yes.Load() != 1 || b.Snapshot().ProbesInFlight != 0 {
		t.Errorf("yes %d times with %d probes in flight, want once and none", yes.Load(), b.Snapshot().ProbesInFlight)
	}
	c.RecordMetric(200, time.Millisecond)
	if s := b.Snapshot(); s.Succeeded != 1 || s.ProbesInFlight != 0 {
		t.Errorf("%d successes, %d probes in flight", s.Succeeded, s.ProbesInFlight)
	}
	c.slow = time.Second
	c.RecordMetric(200, time.Second)
	if s := b.Snapshot(); s.Failed != 1 {
		t.Error("a slow response is no failure")
	}
}
