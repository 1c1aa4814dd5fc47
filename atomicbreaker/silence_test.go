package atomicbreaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

func TestSilenceMakesAPlaceBetweenQuietTicks(t *testing.T) {
	c := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: c, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}})
	b.Trip()
	c.Advance(800 * time.Millisecond) // half-open for 0.3 s
	ticket, _ := b.Acquire()
	ticket.Done(context.Background(), nil)
	for range 3 {
		if _, err := b.Acquire(); err != nil {
			t.Fatal(err)
		}
	}
	c.Advance(time.Second - 1)
	if b.Ready() {
		t.Error("a place before the silence is over")
	}
	c.Advance(1)
	if !b.Ready() {
		t.Error("no place after a second of silence of a full window")
	}
}
