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

// A Group of thousands of keys: their sums, and the five worst one by one.
func ExampleNewSums() {
	var watch breakerwatch.Watch
	hosts, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{
		Config: watch.Config(atomicbreaker.Config{Name: "host"}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	watch.AddAll(breakerwatch.Values(hosts.All()))
	hosts.Get("a.example")
	hosts.Get("b.example")

	registry := prometheus.NewRegistry()
	registry.MustRegister(breakerprom.NewSums(&watch, breakerprom.Sums{
		Group: func(string) string { return "hosts" },
		Worst: 5,
	}))
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "circuitbreaker_group_breakers" {
			fmt.Println(f.GetMetric()[0].GetGauge().GetValue(), "breakers")
		}
	}
	// Output: 2 breakers
}
