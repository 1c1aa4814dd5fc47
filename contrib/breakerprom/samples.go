package breakerprom

import (
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// sample is one series at one moment. With the labels made once and the values
// in a few pieces for each breaker, a large scrape makes little garbage.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair // sorted by name
	value  float64
}

type gauge struct {
	sample
	out dto.Gauge
}

type counter struct {
	sample
	out dto.Counter
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (g *gauge) Write(m *dto.Metric) error {
	g.out.Value = &g.value
	m.Label, m.Gauge = g.labels, &g.out
	return nil
}

// Write implements prometheus.Metric.
func (c *counter) Write(m *dto.Metric) error {
	c.out.Value = &c.value
	m.Label, m.Counter = c.labels, &c.out
	return nil
}

// emission collects the series of one breaker.
type emission struct {
	sets     *labelSets
	created  *timestamppb.Timestamp // of the counters; nil: not told
	gauges   []gauge
	counters []counter
}

func newEmission(sets *labelSets, gauges, counters int) emission {
	return emission{sets: sets, gauges: make([]gauge, 0, gauges), counters: make([]counter, 0, counters)}
}

func (e *emission) gauge(d *prometheus.Desc, labels []*dto.LabelPair, v float64) {
	e.gauges = append(e.gauges, gauge{sample: sample{d, labels, v}})
}

func (e *emission) counter(d *prometheus.Desc, labels []*dto.LabelPair, v float64) {
	e.counters = append(e.counters, counter{sample: sample{d, labels, v}, out: dto.Counter{CreatedTimestamp: e.created}})
}

// each gives a counter for each value, in the order of the label sets.
func (e *emission) each(d *prometheus.Desc, from labelSet, values ...uint64) {
	for i, v := range values {
		e.counter(d, e.sets.of[from+labelSet(i)], float64(v))
	}
}

// send sends all, once nothing is added any more: they are sent as pointers.
func (e *emission) send(ch chan<- prometheus.Metric) {
	for i := range e.gauges {
		ch <- &e.gauges[i]
	}
	for i := range e.counters {
		ch <- &e.counters[i]
	}
}

// probeLatency gives the histogram of a breaker that has had probes.
func (e *emission) probeLatency(r *breakerwatch.Reading, ch chan<- prometheus.Metric) {
	p, ok := r.Probes()
	if !ok {
		return
	}
	h := &histogram{labels: e.sets.of[plain], sum: p.Sum.Seconds()}
	h.out.CreatedTimestamp = e.created
	for i, n := range p.Buckets {
		h.count += n
		if i < len(bounds) {
			h.below[i] = h.count
			h.buckets[i] = dto.Bucket{UpperBound: &bounds[i], CumulativeCount: &h.below[i]}
		}
	}
	ch <- h
}

// bounds are the upper bounds of the histogram's buckets in seconds.
var bounds = func() []float64 {
	var seconds []float64
	for _, d := range breakerwatch.ProbeBounds() {
		seconds = append(seconds, d.Seconds())
	}
	return seconds
}()

// histogram is a histogram at one moment.
type histogram struct {
	labels  []*dto.LabelPair
	count   uint64
	sum     float64
	below   [len(breakerwatch.Probes{}.Buckets) - 1]uint64
	buckets [len(breakerwatch.Probes{}.Buckets) - 1]dto.Bucket
	out     dto.Histogram
}

// Desc implements prometheus.Metric.
func (h *histogram) Desc() *prometheus.Desc { return probeLatency }

// Write implements prometheus.Metric.
func (h *histogram) Write(out *dto.Metric) error {
	out.Label = h.labels
	h.out.SampleCount, h.out.SampleSum = &h.count, &h.sum
	h.out.Bucket = make([]*dto.Bucket, len(h.buckets))
	for i := range h.buckets {
		h.out.Bucket[i] = &h.buckets[i]
	}
	out.Histogram = &h.out
	return nil
}
