package breakerprom

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Sums say which breakers a [Collector] adds up. A Group of atomicbreaker with
// thousands of keys costs a monitor about 27 series a key; added up it costs 16
// in all, and 27 for each of the worst.
type Sums struct {
	// Group returns the group that the breaker of a name belongs to, the label
	// group of its series, or "" for a breaker that is shown by itself. It must
	// return the same for the same name, and few different groups. Required.
	Group func(name string) string

	// Worst is how many breakers of each group are shown by themselves too, 1 to
	// 1000, or atomicbreaker.Off: those that are not closed, the longest outage
	// first, then those with the largest share of failures. Default: 20.
	Worst int
}

// Validate returns every fault of s, joined.
func (s Sums) Validate() error {
	var faults []error
	if s.Group == nil {
		faults = append(faults, errors.New("breakerprom: Sums.Group is nil"))
	}
	if s.Worst < atomicbreaker.Off || s.Worst > 1000 {
		faults = append(faults, fmt.Errorf("breakerprom: Sums.Worst is %d, want 1 to 1000, or atomicbreaker.Off", s.Worst))
	}
	return errors.Join(faults...)
}

// NewSums makes a collector that adds up the breakers of groups. It panics if
// watch is nil or s is faulty; see [Sums.Validate].
func NewSums(watch *breakerwatch.Watch, s Sums) *Collector {
	if err := s.Validate(); err != nil {
		panic(err)
	}
	c := New(watch)
	switch s.Worst {
	case 0:
		s.Worst = 20
	case atomicbreaker.Off:
		s.Worst = 0
	}
	c.sums = &sums{Sums: s, groups: map[string]*group{}}
	return c
}

var (
	groupBreakers    = desc("group_breakers", "Breakers of the group in this scrape.", "group")
	groupState       = desc("group_state", "Breakers of the group in the state.", "group", "state")
	groupCalls       = desc("group_calls_total", "Calls of all breakers of the group, those that are gone included, by what became of them.", "group", "outcome")
	groupRefused     = desc("group_refusals_total", "Refusals of all breakers of the group, by why.", "group", "reason")
	groupWould       = desc("group_would_refuse_total", "Calls let through in shadow mode by breakers of the group that would have been refused.", "group")
	groupOutages     = desc("group_outages_total", "How often breakers of the group have left closed.", "group")
	groupOpened      = desc("group_opened_total", "How often breakers of the group have opened.", "group")
	groupOpenSeconds = desc("group_open_seconds_total", "Time spent open by all breakers of the group.", "group")
)

// sums adds up breakers.
type sums struct {
	Sums
	groups map[string]*group
	pass   uint64
}

// group is the sums of one group. They only rise: what a breaker adds to them is
// what its own totals rose by, so one that goes takes nothing along.
type group struct {
	totals  [groupCounters]float64
	last    map[string]*member
	members []*breakerwatch.Reading // of this collection
	labels  map[*prometheus.Desc][][]*dto.LabelPair
}

// member is the totals that a breaker has added.
type member struct {
	totals [groupCounters]float64
	pass   uint64
}

// The counters of a group: outcomes and refusals in the order of their texts.
const (
	sumCancelled = iota
	sumFailed
	sumIgnored
	sumLate
	sumSucceeded
	sumForced
	sumHalfOpen
	sumOpen
	sumWould
	sumOutages
	sumOpened
	sumOpenSeconds
	groupCounters
)

func totalsOf(r *breakerwatch.Reading) [groupCounters]float64 {
	var t [groupCounters]float64
	for i, n := range [...]uint64{
		r.Cancelled, r.Failed, r.Ignored, r.Late, r.Succeeded,
		r.RefusedForced, r.RefusedHalfOpen, r.RefusedOpen, r.WouldRefuse, r.Outages, r.Opened,
	} {
		t[i] = float64(n)
	}
	t[sumOpenSeconds] = r.TimeOpen.Seconds()
	return t
}

// take adds up the readings of groups and returns those to be shown by
// themselves, in the order in which they were given.
func (s *sums) take(readings []*breakerwatch.Reading) []*breakerwatch.Reading {
	s.pass++
	for _, g := range s.groups {
		g.members = g.members[:0]
	}
	var alone []*breakerwatch.Reading
	for _, r := range readings {
		name := s.Group(r.Name)
		if name == "" {
			alone = append(alone, r)
			continue
		}
		g := s.groups[name]
		if g == nil {
			g = &group{last: map[string]*member{}, labels: map[*prometheus.Desc][][]*dto.LabelPair{}}
			s.groups[name] = g
		}
		g.add(r, s.pass)
	}
	for _, g := range s.groups {
		for name, m := range g.last {
			if m.pass != s.pass {
				delete(g.last, name)
			}
		}
		alone = append(alone, g.worst(s.Worst)...)
	}
	return alone
}

func (g *group) add(r *breakerwatch.Reading, pass uint64) {
	g.members = append(g.members, r)
	m := g.last[r.Name]
	if m == nil {
		m = new(member)
		g.last[r.Name] = m
	}
	now := totalsOf(r)
	for i := range now {
		if now[i] < m.totals[i] {
			m.totals[i] = 0 // another breaker of the name
		}
		g.totals[i] += now[i] - m.totals[i]
	}
	m.totals, m.pass = now, pass
}

// worst returns the breakers that somebody wants to see.
func (g *group) worst(n int) []*breakerwatch.Reading {
	list := slices.Clone(g.members)
	slices.SortStableFunc(list, func(a, b *breakerwatch.Reading) int {
		switch {
		case (a.Outage == nil) != (b.Outage == nil):
			return cmp.Compare(one(b.Outage != nil), one(a.Outage != nil))
		case a.Outage != nil:
			return a.Outage.Began.Compare(b.Outage.Began)
		}
		return cmp.Compare(b.Rolling.FailureRate(), a.Rolling.FailureRate())
	})
	return list[:min(n, len(list))]
}

// send gives the series of all groups.
func (s *sums) send(ch chan<- prometheus.Metric) {
	for name, g := range s.groups {
		e := newEmission(nil, 4, groupCounters)
		var in [3]float64
		for _, r := range g.members {
			in[r.State]++
		}
		e.gauge(groupBreakers, g.with(groupBreakers, name, 0, "", ""), float64(len(g.members)))
		for i, is := range inOrder {
			e.gauge(groupState, g.with(groupState, name, i, "state", word(is)), in[is])
		}
		for i, outcome := range []string{"cancelled", "failure", "ignored", "late", "success"} {
			e.counter(groupCalls, g.with(groupCalls, name, i, "outcome", outcome), g.totals[sumCancelled+i])
		}
		for i, reason := range []string{"forced", "half_open", "open"} {
			e.counter(groupRefused, g.with(groupRefused, name, i, "reason", reason), g.totals[sumForced+i])
		}
		for i, d := range []*prometheus.Desc{groupWould, groupOutages, groupOpened, groupOpenSeconds} {
			e.counter(d, g.with(d, name, 0, "", ""), g.totals[sumWould+i])
		}
		e.send(ch)
	}
}

// with are the labels of the i-th series of a metric, made once.
func (g *group) with(d *prometheus.Desc, name string, i int, label, value string) []*dto.LabelPair {
	all := g.labels[d]
	for len(all) <= i {
		all = append(all, nil)
	}
	if all[i] == nil {
		all[i] = []*dto.LabelPair{pair("group", name)}
		if label != "" {
			all[i] = sorted(all[i][0], pair(label, value))
		}
		g.labels[d] = all
	}
	return all[i]
}
