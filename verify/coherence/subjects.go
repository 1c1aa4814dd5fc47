//go:build interleave

package coherence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/locked"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

var errBroken = errors.New("broken")

// subject is one thing to call, in one situation.
type subject struct {
	call    func(processor int) func()
	settled func() uint64 // calls that it has counted
	tick    func()        // runs the timers that are due
}

// settings are those of a path on a machine of so many processors.
func settings(path string, processors int, now clock.Clock) atomicbreaker.Config {
	c := atomicbreaker.Config{
		Clock:    now,
		Stripes:  ring.MaxStripes(processors), // the default there
		Cooldown: atomicbreaker.Cooldown{Min: 24 * time.Hour},
		Recovery: atomicbreaker.Recovery{Quiet: 24 * time.Hour, ProbeTimeout: 24 * time.Hour},
	}
	if path == "half-open-refused" {
		c.Mode = atomicbreaker.ForcedOpen // to leave it without waiting
	}
	return c
}

// begin brings a breaker into the situation of a path.
func begin(path string, trip func(), setMode func(atomicbreaker.Mode), acquire func() error) error {
	switch path {
	case "refused":
		trip()
	case "half-open-refused":
		setMode(atomicbreaker.Auto)
		return acquire()
	}
	return nil
}

// outcomes returns the outcome of each call of a processor in turn. Failures are
// spread evenly, and processors begin at different places.
func outcomes(path string, processor int) func() error {
	if path != "closed-10pct-failing" {
		return func() error { return nil }
	}
	next := processor%10 + 1
	return func() error {
		if next--; next > 0 {
			return nil
		}
		next = 10
		return errBroken
	}
}

func counted(path string, s atomicbreaker.Snapshot) uint64 {
	switch path {
	case "refused":
		return s.RefusedOpen
	case "half-open-refused":
		return s.RefusedHalfOpen
	default:
		return s.Succeeded + s.Failed
	}
}

func newAtomic(path string, processors int) (subject, error) {
	now := new(clock.Manual)
	b, err := atomicbreaker.New(settings(path, processors, now))
	if err != nil {
		return subject{}, err
	}
	err = begin(path, b.Trip, b.SetMode, func() error { _, err := b.Acquire(); return err })
	return subject{
		call: func(processor int) func() {
			outcome := outcomes(path, processor)
			return func() {
				if t, err := b.Acquire(); err == nil {
					t.Done(context.Background(), outcome())
				}
			}
		},
		settled: func() uint64 { return counted(path, b.Snapshot()) },
		tick:    func() { now.Advance(0) },
	}, err
}

func newMutex(path string, processors int) (subject, error) {
	now := new(clock.Manual)
	b, err := locked.NewMutex(settings(path, processors, now))
	if err != nil {
		return subject{}, err
	}
	err = begin(path, b.Trip, b.SetMode, func() error { _, err := b.Acquire(); return err })
	return subject{
		call: func(processor int) func() {
			outcome := outcomes(path, processor)
			return func() {
				if t, err := b.Acquire(); err == nil {
					t.Done(context.Background(), outcome())
				}
			}
		},
		settled: func() uint64 { return counted(path, b.Snapshot()) },
		tick:    func() { now.Advance(0) },
	}, err
}

func newCounter() subject {
	n := new(atomic.Uint64)
	return subject{
		call:    func(int) func() { return func() { n.Add(1) } },
		settled: n.Load,
		tick:    func() {},
	}
}

func newSubject(impl, path string, processors int) (subject, error) {
	switch impl {
	case "atomic":
		return newAtomic(path, processors)
	case "mutex":
		return newMutex(path, processors)
	case "counter":
		return newCounter(), nil
	}
	return subject{}, fmt.Errorf("coherence: no subject %q", impl)
}
