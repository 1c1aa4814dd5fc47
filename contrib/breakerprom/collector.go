// Package breakerprom shows circuit breakers to Prometheus.
//
// Use it when Prometheus scrapes your program. A first program:
//
//	package main
//
//	import (
//		"log"
//		"net/http"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerprom"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch"
//		"github.com/prometheus/client_golang/prometheus"
//		"github.com/prometheus/client_golang/prometheus/promhttp"
//	)
//
//	func main() {
//		var watch breakerwatch.Watch
//		b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//		if err := watch.Add(b); err != nil {
//			log.Fatal(err)
//		}
//		prometheus.MustRegister(breakerprom.New(&watch))
//		http.Handle("/metrics", promhttp.Handler())
//		log.Fatal(http.ListenAndServe("localhost:8080", nil)) // see http://localhost:8080/metrics
//	}
//
// Everything is read when it is scraped; calls pay nothing for it.
//
// # Choices
//
// [New] shows each breaker of a Watch. [NewSums] adds up the breakers of groups with many
// keys, and shows the worst of them one by one. README.md and docs/metrics.md of the
// repository list the metrics. The folder also has a dashboard for Grafana, recording
// rules and alerts.
package breakerprom

import (
	"slices"
	"strings"
	"sync"

	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
)

// Collector collects the breakers of a Watch. It is safe for concurrent use.
// Registering a second one with the same Registerer is refused by that; to
// show two Watches in one process wrap the Registerer of both with a label.
type Collector struct {
	watch *breakerwatch.Watch
	sums  *sums // nil: every breaker is shown by itself

	mu       sync.Mutex // one collection at a time
	readings []breakerwatch.Reading
	labels   map[string]*labelSets // of the breakers of the last collection
}

// New makes a collector. It panics if watch is nil.
func New(watch *breakerwatch.Watch) *Collector {
	if watch == nil {
		panic("breakerprom: New with a nil Watch")
	}
	return &Collector{watch: watch}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.readings) // holds no breaker for longer than a scrape or two
	c.readings = c.watch.Read(c.readings[:0])
	last := c.labels
	c.labels = make(map[string]*labelSets, len(c.readings))
	order := byName(c.readings)
	if c.sums != nil {
		order = c.sums.take(order)
		c.sums.send(ch)
	}
	for _, r := range order {
		sets := last[r.Name]
		if sets == nil {
			sets = newLabelSets(r.Name)
		}
		c.labels[r.Name] = sets
		e := newEmission(sets, 16, 12) // of a calm breaker
		e.created = sets.since(r.Counted)
		e.reading(r)
		e.send(ch)
		e.probeLatency(r, ch)
	}
	for _, from := range inOrder {
		e := newEmission(nil, 0, 3*len(order)+len(order)/8)
		for _, r := range order {
			e.sets = c.labels[r.Name]
			e.created = e.sets.since(r.Counted)
			e.transitions(r, from)
		}
		e.send(ch)
	}
	s := c.watch.Stats()
	whole := newEmission(nil, 2, 1)
	whole.gauge(breakers, nil, float64(s.Breakers))
	whole.gauge(nameClashes, nil, float64(s.Clashes))
	whole.counter(unrecorded, nil, float64(s.Unrecorded))
	whole.send(ch)
}

// byName is the order that the Registry sorts into: most of the time of
// sorting a large scrape is saved where it is there already.
func byName(readings []breakerwatch.Reading) []*breakerwatch.Reading {
	order := make([]*breakerwatch.Reading, len(readings))
	for i := range readings {
		order[i] = &readings[i]
	}
	slices.SortFunc(order, func(a, b *breakerwatch.Reading) int { return strings.Compare(a.Name, b.Name) })
	return order
}
