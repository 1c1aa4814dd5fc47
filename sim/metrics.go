package sim

import (
	"math"
	"slices"
	"time"
)

// Metrics are the figures of one contender in one scenario: of one run, or
// medians over seeds. Where a scenario has variants they are means over those.
type Metrics struct {
	T95 float64 `json:"t95_s"` // see [Result.T95]; +Inf stands for never

	GoodputDuring float64 `json:"goodput_during"` // good answers a second, in the incident
	GoodputAfter  float64 `json:"goodput_after"`  // in the 20 s that follow it
	Failed        float64 `json:"failed"`         // attempts that were sent and failed, in the whole run
	FailedToTrip  float64 `json:"failed_to_trip"` // of these, up to the first opening
	FailedBeyond  float64 `json:"failed_beyond"`  // of these, the others
	FailedShare   float64 `json:"failed_share"`   // failures in percent of the answers during the incident, those up to the first opening left out
	Refused       float64 `json:"refused"`        // attempts that were not sent
	Needless      float64 `json:"needless"`       // of these, those that the dependency had room for
	Trips         float64 `json:"trips"`
	Retrips       float64 `json:"retrips"` // trips after the incident
	Reopens       float64 `json:"reopens"`
	Closes        float64 `json:"closes"`
	Herd          float64 `json:"herd"`          // calls sent in the first second of good answers
	ClosedAfter   float64 `json:"closed_after"`  // calls born from the end of the incident until closed; +Inf: never
	FailedProbes  float64 `json:"failed_probes"` // attempts that were sent by a half-open breaker and failed, in the incident
}

// fields lists the figures by the names that checks use.
func (m *Metrics) fields() []struct {
	name string
	at   *float64
} {
	type f = struct {
		name string
		at   *float64
	}
	return []f{
		{"t95_s", &m.T95}, {"goodput_during", &m.GoodputDuring}, {"goodput_after", &m.GoodputAfter},
		{"failed", &m.Failed}, {"failed_to_trip", &m.FailedToTrip}, {"failed_beyond", &m.FailedBeyond},
		{"failed_share", &m.FailedShare}, {"refused", &m.Refused}, {"needless", &m.Needless},
		{"trips", &m.Trips}, {"retrips", &m.Retrips}, {"reopens", &m.Reopens}, {"closes", &m.Closes},
		{"herd", &m.Herd}, {"closed_after", &m.ClosedAfter},
		{"failed_probes", &m.FailedProbes},
	}
}

// MetricNames lists the names of all figures, in order.
func MetricNames() []string {
	var names []string
	for _, f := range new(Metrics).fields() {
		names = append(names, f.name)
	}
	return names
}

// Get returns a figure by name and whether there is one of that name.
func (m Metrics) Get(name string) (float64, bool) {
	for _, f := range m.fields() {
		if f.name == name {
			return *f.at, true
		}
	}
	return 0, false
}

// Metrics takes the figures of a run.
func (r *Result) Metrics() Metrics {
	all, during := r.All(), r.Total(r.Incident)
	m := Metrics{
		T95:           orNever(r.T95()),
		GoodputDuring: r.Goodput(r.Incident),
		GoodputAfter:  r.Goodput(Span{r.Incident.To, r.Incident.To + 20*time.Second}),
		Failed:        float64(all.Failed),
		FailedToTrip:  float64(r.FailedToTrip),
		FailedBeyond:  float64(all.Failed - r.FailedToTrip),
		Refused:       float64(all.Refused),
		Needless:      float64(all.Needless),
		Trips:         float64(r.Trips),
		Retrips:       float64(r.Retrips),
		Reopens:       float64(r.Reopens),
		Closes:        float64(r.Closes),
		Herd:          float64(r.Herd),
		ClosedAfter:   orNever(r.ClosedAfter),
		FailedProbes:  float64(r.FailedProbes),
	}
	if failed := during.Failed - r.FailedToTrip; failed > 0 {
		m.FailedShare = 100 * float64(failed) / float64(failed+during.Good)
	}
	return m
}

func orNever(n int) float64 {
	if n == Never {
		return math.Inf(1)
	}
	return float64(n)
}

// combine makes one of many, figure by figure.
func combine(ms []Metrics, by func([]float64) float64) Metrics {
	var out Metrics
	values := make([]float64, len(ms))
	for i, f := range out.fields() {
		for k := range ms {
			values[k] = *ms[k].fields()[i].at
		}
		*f.at = by(values)
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// median is the middle one, the lower of two.
func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
