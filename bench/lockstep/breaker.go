// Package lockstep drives several circuit breakers with the same operations,
// each on a manual clock of its own, and demands the same answers of all. It
// is how the lock-free breaker is held against its locked twins.
package lockstep

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/locked"
)

// Breaker is what the implementations have in common.
type Breaker interface {
	Name() string
	Ready() bool
	Acquire() (Ticket, error)
	Do(context.Context, func(context.Context) error) error
	State() atomicbreaker.State
	Snapshot() atomicbreaker.Snapshot
	RetryAfter() time.Duration
	Trip()
	Reset()
	SetMode(atomicbreaker.Mode)
}

// Ticket is what their tickets have in common.
type Ticket interface {
	Done(context.Context, error) bool
	Report(atomicbreaker.Outcome) bool
	ReportAfter(atomicbreaker.Outcome, time.Duration) bool
	Cancel() bool
}

// Implementation is one way to make a breaker.
type Implementation struct {
	Name string
	New  func(atomicbreaker.Config) (Breaker, error)
}

// Atomic is the lock-free breaker.
func Atomic() Implementation {
	return Implementation{"atomic", func(c atomicbreaker.Config) (Breaker, error) {
		b, err := atomicbreaker.New(c)
		return lockFree{b}, err
	}}
}

// Mutex is the breaker behind a sync.Mutex.
func Mutex() Implementation {
	return Implementation{"mutex", func(c atomicbreaker.Config) (Breaker, error) {
		b, err := locked.NewMutex(c)
		return mutex{b}, err
	}}
}

// RWMutex is the breaker behind a sync.RWMutex.
func RWMutex() Implementation {
	return Implementation{"rwmutex", func(c atomicbreaker.Config) (Breaker, error) {
		b, err := locked.NewRWMutex(c)
		return rwMutex{b}, err
	}}
}

type lockFree struct{ *atomicbreaker.Breaker }

func (b lockFree) Acquire() (Ticket, error) {
	t, err := b.Breaker.Acquire()
	return &t, err
}

type mutex struct{ *locked.Mutex }

func (b mutex) Acquire() (Ticket, error) {
	t, err := b.Mutex.Acquire()
	return &t, err
}

type rwMutex struct{ *locked.RWMutex }

func (b rwMutex) Acquire() (Ticket, error) {
	t, err := b.RWMutex.Acquire()
	return &t, err
}
