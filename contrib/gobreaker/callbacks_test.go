package gobreaker_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// goroutine names the goroutine that calls it.
func goroutine() string {
	text := make([]byte, 64)
	name, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), " [")
	return name
}

// OnStateChange is told by the request or State that a change comes with, on
// its goroutine: who is alone with a breaker needs no lock in it.
func TestOnStateChangeRunsOnTheGoroutineOfACall(t *testing.T) {
	var told []string
	me := ""
	st := gobreaker.Settings{
		Name: "db", MaxRequests: 1, Timeout: time.Second, ReadyToTrip: onFirst,
		OnStateChange: func(name string, from, to gobreaker.State) {
			if goroutine() != me {
				t.Error("told on another goroutine")
			}
			told = append(told, fmt.Sprintf("%s %v-%v", name, from, to))
		},
	}
	inBubble(t, st, func(r rig) {
		me = goroutine()
		wants := func(last string, n int) {
			t.Helper()
			if len(told) != n || told[n-1] != last {
				t.Fatalf("told %q, want %d with the last %q", told, n, last)
			}
		}
		r.fail(1)
		wants("db closed-open", 1)
		time.Sleep(time.Hour)
		wants("db closed-open", 1)
		r.State()
		wants("db open-half-open", 2)
		r.fail(1)
		wants("db half-open-open", 3)
		time.Sleep(time.Second + 1)
		r.succeed(1) // half-open and closed by one request
		wants("db half-open-closed", 5)
		if told[3] != "db open-half-open" {
			t.Errorf("told %q before that", told[3])
		}
	})
}

// Within OnStateChange the breaker is in its new state, with counts cleared.
func TestCallbacksMayCallTheBreaker(t *testing.T) {
	var b rig
	depth := 0
	look := func(want gobreaker.State) {
		if got := b.State(); got != want {
			b.t.Errorf("state %v, want %v", got, want)
		}
		b.Counts()
	}
	st := gobreaker.Settings{
		Timeout: time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			look(closed)
			if got := b.Counts(); got != c {
				b.t.Errorf("asked about %+v, want %+v", c, got)
			}
			return c.TotalFailures == 2
		},
		IsSuccessful: func(err error) bool {
			b.State()
			if depth == 0 {
				depth++
				b.Execute(func() (int, error) { return 1, nil })
				depth--
			}
			return err == nil
		},
		IsExcluded: func(error) bool { b.Counts(); return false },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			look(to)
			if b.Counts() != (counts{}) {
				b.t.Errorf("counts %+v when %v", b.Counts(), to)
			}
			if to == open {
				b.refused(gobreaker.ErrOpenState)
			}
		},
	}
	inBubble(t, st, func(r rig) {
		b = r
		r.fail(2)
		r.wants(open, counts{})
		time.Sleep(time.Second + 1)
		depth = 1
		r.succeed(1)
		r.wants(closed, counts{})
	})
}

// A change that a callback causes is told after it has returned.
func TestChangesCausedByACallbackAreToldInOrder(t *testing.T) {
	var b rig
	var told []string
	st := gobreaker.Settings{
		Timeout: time.Second, ReadyToTrip: onFirst,
		OnStateChange: func(_ string, from, to gobreaker.State) {
			told = append(told, fmt.Sprintf("%v-%v", from, to))
			if to == halfOpen {
				b.succeed(1)
			}
		},
	}
	inBubble(t, st, func(r rig) {
		b = r
		r.halfOpenByState()
		if want := []string{"closed-open", "open-half-open", "half-open-closed"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		r.wants(closed, counts{})
	})
}

// halfOpenByState trips, waits and asks.
func (r rig) halfOpenByState() {
	r.fail(1)
	time.Sleep(time.Second + 1)
	r.State()
}

// panicOf returns what f panics with.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// A panic in a rule reaches the caller once; the request counts as one failure
// and keeps no place.
func TestPanicInARule(t *testing.T) {
	bad := false
	boom := func() bool {
		if bad {
			panic("rule")
		}
		return false
	}
	for name, st := range map[string]gobreaker.Settings{
		"IsExcluded":   {IsExcluded: func(error) bool { return boom() }},
		"IsSuccessful": {IsSuccessful: func(err error) bool { return boom() || err == nil }},
		"ReadyToTrip":  {ReadyToTrip: func(c gobreaker.Counts) bool { return boom() || c.ConsecutiveFailures > 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			st.Timeout = time.Second
			inBubble(t, st, func(r rig) {
				bad = true
				if got := panicOf(func() { r.end(errFailed) }); got != "rule" {
					t.Errorf("panicked with %v, want the rule's panic", got)
				}
				bad = false
				r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
				r.halfOpen(time.Second)
				bad = true
				panicOf(func() { r.end(errFailed) }) // ReadyToTrip is not asked here
				bad = false
				r.wants(open, counts{})
			})
		})
	}
}

func TestPanicInOnStateChangeIsContained(t *testing.T) {
	told := 0
	st := gobreaker.Settings{
		Timeout: time.Second, ReadyToTrip: onFirst,
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { told++; panic("listener") },
	}
	inBubble(t, st, func(r rig) {
		r.fail(1)
		r.wants(open, counts{})
		time.Sleep(time.Second + 1)
		r.succeed(1)
		r.wants(closed, counts{})
		if told != 3 {
			t.Errorf("told %d times, want 3", told)
		}
	})
}
