package breakerprom_test

import (
	"strings"

	"github.com/atomicbreaker/breaker/contrib/breakerprom"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
)

// ExampleNewSums adds up the breakers of a Group whose Config is named hosts,
// and shows the five worst of them by themselves.
func ExampleNewSums() {
	var watch breakerwatch.Watch
	prometheus.MustRegister(breakerprom.NewSums(&watch, breakerprom.Sums{
		Group: func(name string) string {
			if strings.HasPrefix(name, "hosts ") {
				return "hosts"
			}
			return ""
		},
		Worst: 5,
	}))
}
