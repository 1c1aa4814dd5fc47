package breakerprom_test

import (
	"fmt"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerprom"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
)

func ExampleNew() {
	var watch breakerwatch.Watch
	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
	if err := watch.Add(b); err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(breakerprom.New(&watch))

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "circuitbreaker_state" {
			fmt.Println(f.GetName(), "has", len(f.GetMetric()), "series")
		}
	}
	// Output: circuitbreaker_state has 3 series
}
