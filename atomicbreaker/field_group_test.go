package atomicbreaker_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// A key of several parts is compared part by part: none is the same as
// another because their texts join to the same.
//
// Field: S193, grpc/grpc-go#4372 (2021-04-29), #4560 (2021-06-22).
func TestFieldKeysOfSeveralPartsDoNotCollide(t *testing.T) {
	type key struct{ cluster, service string }
	g, err := ab.NewGroup(ab.GroupConfig[key]{})
	if err != nil {
		t.Fatal(err)
	}
	keys := []key{{"a", "bc"}, {"ab", "c"}, {"a/b", "c"}, {"a", "b/c"}, {"a b", "c"}, {"a", "b c"}}
	seen := map[*ab.Breaker]key{}
	for _, k := range keys {
		b := g.Get(k)
		if other, ok := seen[b]; ok {
			t.Errorf("%q and %q have one breaker", k, other)
		}
		seen[b] = k
		b.Trip()
	}
	if other := g.Get(key{"abc", ""}); other.State() != ab.StateClosed {
		t.Error("a breaker was opened by other keys' calls")
	}
}

// A group without settings works and trips, and one with faulty ones is
// refused.
//
// Field: S116, cloudwego/kitex#526 (2022-08-19); nzin/traefik-cluster-ratelimit#4
// (2025-01-15); exaring/hoglet commit f1e1e09 (2023-10-11).
func TestFieldGroupWithoutSettingsTrips(t *testing.T) {
	g, err := ab.NewGroup(ab.GroupConfig[string]{})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ticket, err := g.Get("dead").Acquire()
		if err != nil {
			t.Fatal(err)
		}
		ticket.Report(ab.Failure)
	}
	if g.Get("dead").State() != ab.StateOpen || g.Get("well").State() != ab.StateClosed {
		t.Errorf("the dead key is %v and the other %v", g.Get("dead").State(), g.Get("well").State())
	}
	_, err = ab.NewGroup(ab.GroupConfig[string]{Max: -1, Config: ab.Config{FailureRate: 2}})
	if err == nil || !strings.Contains(err.Error(), "Max is -1") || !strings.Contains(err.Error(), "FailureRate is 2") {
		t.Errorf("faulty settings gave %v", err)
	}
}

// Keys may be asked for, removed, counted and walked through at once, and one
// call through the group is one admission.
//
// Field: S141, afex/hystrix-go#71 (2017-08-14), #36, #37 (2015-07-27).
//
// Field: S047, resilience4j/resilience4j#1003; danielfm/pybreaker 0.3.2 changelog (2017-06).
func TestFieldGroupUnderEverythingAtOnce(t *testing.T) {
	m := new(clock.Manual)
	c := streakConfig()
	c.Clock = m
	g, err := ab.NewGroup(ab.GroupConfig[int]{Config: c, Max: 50, IdleTime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	crowd(16, func(i int) {
		rnd := rand.New(rand.NewPCG(7, uint64(i)))
		for range 1000 {
			key := rnd.IntN(100)
			switch rnd.IntN(8) {
			case 0:
				g.Remove(key)
			case 1:
				m.Advance(time.Duration(rnd.IntN(500)) * time.Millisecond)
			case 2:
				for k, b := range g.All() {
					if name := fmt.Sprint(k); b.Name() != name {
						t.Errorf("key %s has the breaker of %s", name, b.Name())
					}
				}
			case 3:
				g.Stats()
				g.Get(key).Trip()
			default:
				b := g.Get(key)
				if err := b.Do(t.Context(), succeed); err != nil && !ab.IsRejected(err) {
					t.Error(err)
				}
			}
			if n := g.Len(); n > 50 {
				t.Errorf("%d breakers, want at most 50", n)
			}
		}
	})
	// Every key that was tripped comes back.
	m.Advance(time.Minute)
	for key := range 100 {
		b := g.Get(key)
		before := settledOf(b)
		if err := b.Do(t.Context(), succeed); err != nil {
			t.Errorf("key %d: %v", key, err)
		}
		before.succeeded++
		if got := settledOf(b); got != before {
			t.Errorf("key %d: one call is counted as %+v, want %+v", key, got, before)
		}
	}
}
