package breakerprom

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func newSummed(t *testing.T, worst int) *scraped {
	s := &scraped{T: t, registry: prometheus.NewPedanticRegistry()}
	s.registry.MustRegister(NewSums(&s.Watch, Sums{Worst: worst, Group: func(name string) string {
		group, _, found := strings.Cut(name, " ")
		if !found {
			return ""
		}
		return group
	}}))
	return s
}

// TestSumsOnlyRise while breakers come and go, and the worst are shown.
func TestSumsOnlyRise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSummed(t, 2)
		alone := s.made(config("alone"))
		call(t, alone, 0, atomicbreaker.Success)
		group, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[int]{Config: s.Config(config("hosts"))})
		if err != nil {
			t.Fatal(err)
		}
		s.AddAll(breakerwatch.Values(group.All()))
		last, succeeded := 0.0, 0
		for round := range 20 {
			for key := range 10 {
				call(t, group.Get(key), 0, atomicbreaker.Success)
				succeeded++
			}
			v := s.values()
			got := v[`circuitbreaker_group_calls_total{group="hosts",outcome="success"}`]
			if got < last || got > float64(succeeded) {
				t.Fatalf("round %d: %v after %v, of %d", round, got, last, succeeded)
			}
			last = got
			if v[`circuitbreaker_group_breakers{group="hosts"}`] != 10 || v[`circuitbreaker_calls_total{name="alone",outcome="success"}`] != 1 {
				t.Fatal(v)
			}
			group.Remove(round % 10)
			if round%3 == 1 { // somebody else reads too, and it begins anew between two scrapes
				s.Read(nil)
				s.Read(nil)
			}
			if round%3 == 0 {
				s.values() // one that is gone for two readings begins anew
				s.values()
			}
		}
		if last != float64(succeeded) {
			t.Errorf("%v succeeded, want %d", last, succeeded)
		}
		for _, key := range []int{7, 3, 5} {
			call(t, group.Get(key), 0, atomicbreaker.Failure)
			time.Sleep(time.Second)
		}
		v := s.values()
		for series, want := range map[string]float64{
			`circuitbreaker_group_state{group="hosts",state="open"}`:              3,
			`circuitbreaker_group_outages_total{group="hosts"}`:                   3,
			`circuitbreaker_state{name="hosts 7",state="open"}`:                   1,
			`circuitbreaker_state{name="hosts 3",state="open"}`:                   1,
			`circuitbreaker_group_calls_total{group="hosts",outcome="failure"}`:   3,
			`circuitbreaker_group_calls_total{group="hosts",outcome="cancelled"}`: 0,
		} {
			if got, there := v[series]; !there || got != want {
				t.Errorf("%s is %v, want %v", series, got, want)
			}
		}
		if _, there := v[`circuitbreaker_state{name="hosts 5",state="open"}`]; there {
			t.Error("the third worst of two is shown")
		}
	})
}

// TestSumsBoundTheSeries of a group with many keys.
func TestSumsBoundTheSeries(t *testing.T) {
	s := newSummed(t, atomicbreaker.Off)
	few := len(s.values())
	for i := range 1000 {
		s.made(config(fmt.Sprint("hosts ", i)))
	}
	if n := len(s.values()) - few; n > 20 {
		t.Errorf("1000 breakers of a group have %d series, want at most 20", n)
	}
	if s.values()[`circuitbreaker_breakers`] != 1000 {
		t.Error("not all are counted")
	}
}

// TestCountersSayWhenTheyBegan so that a monitor sees the first increase, and
// no other one where a breaker is made again.
func TestCountersSayWhenTheyBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		time.Sleep(time.Minute)
		made := time.Now()
		group, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: s.Config(config(""))})
		if err != nil {
			t.Fatal(err)
		}
		s.AddAll(breakerwatch.Values(group.All()))
		for n := range 3 {
			b := group.Get("a")
			call(t, b, 0, atomicbreaker.Success)
			time.Sleep(time.Second)
			if got := s.values()[`circuitbreaker_calls_total{name="a",outcome="success"}`]; got != float64(n+1) {
				t.Errorf("%v after the breaker was replaced %d times, want %d", got, n, n+1)
			}
			families, err := s.registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				for _, m := range f.Metric {
					if f.GetType() == dto.MetricType_COUNTER && f.GetName() != "circuitbreaker_unrecorded_events_total" && !m.Counter.CreatedTimestamp.AsTime().Equal(made) {
						t.Errorf("%s began at %v, want %v", f.GetName(), m.Counter.CreatedTimestamp.AsTime(), made)
					}
				}
			}
			group.Remove("a")
		}
	})
}

// TestTheFirstOpeningIsAnIncrease: its series is there before it.
func TestTheFirstOpeningIsAnIncrease(t *testing.T) {
	s := newScraped(t)
	b := s.made(config("b"))
	before := s.values()
	call(t, b, 0, atomicbreaker.Failure)
	for series, v := range s.values() {
		if was, there := before[series]; strings.Contains(series, "_total") && v > was && !there {
			t.Errorf("%s was not there at 0", series)
		}
	}
}

func TestFaultySumsAreLoud(t *testing.T) {
	err := Sums{Worst: 1001}.Validate()
	if err == nil || !strings.Contains(err.Error(), "Sums.Group is nil") || !strings.Contains(err.Error(), "Sums.Worst is 1001, want 1 to 1000") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("made")
		}
	}()
	NewSums(new(breakerwatch.Watch), Sums{})
}
