package breakerwatch_test

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

func Example() {
	var watch breakerwatch.Watch
	manual := new(clock.Manual)
	group, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{
		Config: watch.Config(atomicbreaker.Config{Name: "stock", ConsecutiveFailures: 1, Clock: manual}),
	})
	if err != nil {
		panic(err)
	}
	watch.AddAll(breakerwatch.Values(group.All()))

	b := group.Get("eu.example:443")
	ticket, _ := b.Acquire()
	ticket.Report(atomicbreaker.Failure)
	manual.Advance(time.Second) // the cooldown
	ticket, _ = b.Acquire()
	manual.Advance(3 * time.Millisecond)
	ticket.Report(atomicbreaker.Success)

	for _, r := range watch.Read(nil) {
		fmt.Println(r.Name, "is", r.State)
		for _, t := range r.Transitions {
			fmt.Printf("%v to %v because of %v: %d\n", t.From, t.To, t.Reason, t.Count)
		}
		probes, _ := r.Probes()
		fmt.Println("probes that succeeded:", probes.Succeeded, "in", probes.Sum)
	}
	// Output:
	// stock eu.example:443 is half-open
	// closed to open because of streak: 1
	// open to half-open because of cooldown: 1
	// probes that succeeded: 1 in 3ms
}
