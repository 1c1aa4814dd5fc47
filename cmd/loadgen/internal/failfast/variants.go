package failfast

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/locked"
)

// variant is one implementation of the breaker, open for as long as it is
// measured.
type variant struct {
	name    string
	locks   bool        // callers wait for each other: that is part of what a call costs
	refuse  func() bool // one call, true if it was refused
	refused func() uint64
}

// newVariants opens one breaker of each kind. The closures are written out
// rather than made by a generic function, so that each compiler-inlined call
// stays inlined.
func newVariants() ([]variant, error) {
	config := atomicbreaker.Config{Name: "failfast", Cooldown: atomicbreaker.Cooldown{Min: 24 * time.Hour}}
	free, err := atomicbreaker.New(config)
	if err != nil {
		return nil, fmt.Errorf("atomic breaker: %w", err)
	}
	mutex, err := locked.NewMutex(config)
	if err != nil {
		return nil, fmt.Errorf("mutex breaker: %w", err)
	}
	rwmutex, err := locked.NewRWMutex(config)
	if err != nil {
		return nil, fmt.Errorf("rwmutex breaker: %w", err)
	}
	free.Trip()
	mutex.Trip()
	rwmutex.Trip()
	return []variant{
		{
			name:    "atomic",
			refuse:  func() bool { _, err := free.Acquire(); return err != nil }, //breakervet:ignore what a refusal costs
			refused: func() uint64 { return free.Snapshot().RefusedOpen },
		},
		{
			name: "mutex", locks: true,
			refuse:  func() bool { _, err := mutex.Acquire(); return err != nil },
			refused: func() uint64 { return mutex.Snapshot().RefusedOpen },
		},
		{
			name: "rwmutex", locks: true,
			refuse:  func() bool { _, err := rwmutex.Acquire(); return err != nil },
			refused: func() uint64 { return rwmutex.Snapshot().RefusedOpen },
		},
	}, nil
}

// nothing is the loop without a breaker: what the timer and the scheduler
// add to every measurement.
func nothing() variant {
	var calls uint64
	return variant{name: "nothing", refuse: func() bool { return true }, refused: func() uint64 { return calls }}
}
