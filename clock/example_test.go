package clock_test

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// A test moves the time of a breaker by hand.
func ExampleManual() {
	c := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Clock:    c,
		Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off},
	})
	b.Trip()
	fmt.Println(b.State())
	c.Advance(500 * time.Millisecond)
	fmt.Println(b.State())
	// Output:
	// open
	// half-open
}

// A breaker that times every call can use the processor's counter where there is one.
func ExampleTSC() {
	c, counter := clock.TSC()
	b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: c, SlowCallDuration: time.Second})
	_ = counter // false: c is the system's clock
	fmt.Println(b.State())
	// Output: closed
}
