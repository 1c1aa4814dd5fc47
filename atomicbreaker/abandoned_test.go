package atomicbreaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

func TestProbesGivenUpAreCountedAsAbandoned(t *testing.T) {
	c := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: c, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}})
	b.Trip()
	c.Advance(500 * time.Millisecond)
	first, _ := b.Acquire()
	c.Advance(time.Second) // the silence lets another one in
	second, _ := b.Acquire()
	c.Advance(time.Minute)
	first.Done(context.Background(), nil)
	second.Cancel()
	if s := b.Snapshot(); s.Abandoned != 2 || s.Late != 2 {
		t.Errorf("abandoned %d, late %d, want 2 and 2", s.Abandoned, s.Late)
	}
}
