package lab

import (
	"slices"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/sim"
)

// A lane is one way of guarding the dependency, run on its own and drawn beside
// the others.
type lane struct {
	Choice
	About     string
	contender func(*Setup) sim.Contender
	single    bool // one breaker for all callers, whatever the fleet
	turns     bool // the fleet takes turns at probing
}

// lanes in the order of the page.
var lanes = []lane{
	{Choice: Choice{"ours", "This breaker"}, About: "with the settings below", contender: ours},
	{Choice: Choice{"alone", "This breaker, one for all"}, About: "the same settings, but a single breaker instead of a fleet", contender: ours, single: true},
	{Choice: Choice{"turns", "This breaker, taking turns"}, About: "the same settings, and the fleet shares a lease: one breaker probes at a time", contender: ours, turns: true},
	{Choice: Choice{"second", "This breaker, second settings"}, About: "with the second settings below", contender: func(s *Setup) sim.Contender {
		return sim.Breaker("second", "", s.Second)
	}},
	{Choice: Choice{"classic", "Classic breaker"}, About: "opens at half of the last 20 calls, waits 5 s, closes on one good probe", contender: func(*Setup) sim.Contender { return sim.Classic() }},
	{Choice: Choice{"gobreaker", "gobreaker"}, About: "the rules of sony/gobreaker 2.4.0 at its defaults: six failures in a row, one probe", contender: Gobreaker},
	{Choice: Choice{"none", "No breaker"}, About: "every call is sent", contender: func(*Setup) sim.Contender { return sim.None() }},
	{Choice: Choice{"oracle", "The best possible"}, About: "knows the dependency's queue; nobody can have it", contender: func(*Setup) sim.Contender { return sim.Oracle() }},
}

func ours(s *Setup) sim.Contender { return sim.Breaker("ours", "", s.Ours) }

func laneIndex(key string) int {
	return slices.IndexFunc(lanes, func(l lane) bool { return l.Key == key })
}

func laneKeys() string {
	var keys []string
	for _, l := range lanes {
		keys = append(keys, l.Key)
	}
	return strings.Join(keys, ", ")
}

// Gobreaker is sony/gobreaker's breaker with all settings but Timeout at their
// defaults. Its own code reads package time and cannot run here; what it does at
// these settings can be said in ours, and a test compares the figures with those
// that were recorded from its code.
func Gobreaker(s *Setup) sim.Contender {
	wait := s.Gobreaker
	c := sim.Breaker("gobreaker", "", atomicbreaker.Config{
		ConsecutiveFailures: 6, FailureRate: atomicbreaker.Off,
		Cooldown: atomicbreaker.Cooldown{Min: wait, Max: wait, Factor: 1, Jitter: atomicbreaker.Off},
		// Its one probe closes or opens it, and it waits for that one for ever.
		Recovery: atomicbreaker.Recovery{Probes: 1, ProbeTimeout: 24 * time.Hour, Quiet: 24 * time.Hour},
	})
	return sim.Contender{Name: c.Name, Title: c.Title, New: func(site sim.Site) sim.Policy {
		return cancelFails{c.New(site)}
	}}
}

// cancelFails is a breaker for which a call that its caller cancelled has
// failed, as for gobreaker: it takes every error for one.
type cancelFails struct{ sim.Policy }

func (p cancelFails) Settle(t sim.Ticket, o atomicbreaker.Outcome) {
	if o == atomicbreaker.Ignored {
		o = atomicbreaker.Failure
	}
	p.Policy.Settle(t, o)
}

func (p cancelFails) State() atomicbreaker.State { return stateOf(p.Policy) }
func (p cancelFails) Window() int                { return windowOf(p.Policy) }

// stateOf is the state of a policy, closed if it has none.
func stateOf(p sim.Policy) atomicbreaker.State {
	if t, ok := p.(interface{ State() atomicbreaker.State }); ok {
		return t.State()
	}
	return atomicbreaker.StateClosed
}

func windowOf(p sim.Policy) int {
	if t, ok := p.(interface{ Window() int }); ok {
		return t.Window()
	}
	return 0
}
