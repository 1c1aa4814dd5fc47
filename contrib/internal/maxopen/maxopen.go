// Package maxopen lets the least sick of many backends go on when more of
// their breakers refuse than may. What goes past a breaker is counted by a second one
// that refuses nothing, and bounded by what it serves.
package maxopen

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Default is the largest share of backends that may refuse at once.
const Default = 0.5

// Streak is the default of Config.ConsecutiveFailures for backends among
// others. Another one can take over, so less evidence will do than for a
// dependency that is alone: one bad call in a hundred makes six in a row once
// in 10^12 calls.
const Streak = 6

// Share returns the setting, or its default, and its fault, in words, or nil.
func Share(setting float64) (float64, error) {
	if !(setting >= 0 && setting <= 1) {
		return 0, fmt.Errorf("is %v, want above 0 to 1", setting)
	}
	return cmp.Or(setting, Default), nil
}

// Of returns the configuration of the breaker that counts what goes past one
// with configuration c.
func Of(c atomicbreaker.Config) atomicbreaker.Config {
	return atomicbreaker.Config{Name: c.Name, Clock: c.Clock, Stripes: c.Stripes, Mode: atomicbreaker.ForcedClosed}
}

// Allowed returns how many of n backends may refuse: at least one.
func Allowed(share float64, n int) int { return max(1, int(math.Floor(share*float64(n)+1e-9))) }

// HeldOpen reports whether an operator holds the breaker open.
func HeldOpen(b *atomicbreaker.Breaker) bool {
	return b.State() == atomicbreaker.StateOpen && b.RetryAfter() == 0 && b.Snapshot().Mode == atomicbreaker.ForcedOpen
}

// goesOn reports whether a backend may be asked past its breaker: it serves at
// least one in five of what it gets, with ten to begin with: fewer, and chance
// alone would take one that fails 60 % for dead, for as long as b remembers. What is
// in flight is not served yet. b counts what went past.
func goesOn(b *atomicbreaker.Breaker, inFlight int64) bool {
	const share = 5
	c := b.Snapshot().Rolling
	return c.Calls+uint64(inFlight) < share*(c.Calls-c.Failures+2)
}

// health is the share of successes past the breaker, in tenths, so that what
// differs little counts as alike.
func health(b *atomicbreaker.Breaker) int {
	c := b.Snapshot().Rolling
	return int(10 * float64(c.Calls-c.Failures+1) / float64(c.Calls+2))
}

// LeastSick returns up to n of those that may go on, the healthiest first,
// and in no order among equals. past tells the breaker that counts what goes
// past a backend's own, and how much of it is in flight.
func LeastSick[T any](refusing []T, n int, past func(T) (*atomicbreaker.Breaker, int64)) []T {
	type candidate struct {
		t      T
		health int
	}
	going := make([]candidate, 0, len(refusing))
	for _, t := range refusing {
		if b, inFlight := past(t); goesOn(b, inFlight) {
			going = append(going, candidate{t, health(b)})
		}
	}
	rand.Shuffle(len(going), func(i, j int) { going[i], going[j] = going[j], going[i] })
	slices.SortStableFunc(going, func(a, b candidate) int { return b.health - a.health })
	least := make([]T, 0, n)
	for _, c := range going[:min(n, len(going))] {
		least = append(least, c.t)
	}
	return least
}
