package atomicbreaker

import (
	"errors"
	"fmt"
	"time"
)

// GroupConfig says how a [Group] makes breakers and how many it keeps. The
// zero value is valid and means the default everywhere.
type GroupConfig[K comparable] struct {
	// Config is the configuration of every breaker, except for its name, which is
	// Config.Name, if set, a space, and the key as fmt.Sprint writes it.
	Config Config

	// Configure, if not nil, returns the configuration of a key's breaker. It
	// is given Config with the name filled in. It runs on the goroutine that
	// asks for the key, without a lock; it may run concurrently, more than once for one
	// key, and may Get other keys, whose Configure may do so too, up to 64 deep.
	// A Configure that asks for its own key, itself or through other keys, is
	// therefore called 64 times and then panics. Default: nil.
	Configure func(key K, c Config) Config

	// OnError, if not nil, is called with a key for which Configure returned a
	// configuration that [Config.Validate] finds fault with. The key's breaker
	// is then made from Config. [GroupStats].Misconfigured counts these in any
	// case. It is also called with the first key that does not equal itself, such as a NaN.
	// It runs on the goroutine that asked for the key, without a lock.
	// Default: nil.
	OnError func(key K, err error)

	// Max is the most breakers that the group keeps, 1 to 1 048 576.
	// Default: 1024.
	Max int

	// IdleTime is how long a breaker must not have had an outcome before it
	// may make room for another key's, 1 ms to 24 h. Default: 1 minute.
	IdleTime time.Duration
}

// Validate returns every fault of c, joined, those of its Config included.
func (c GroupConfig[K]) Validate() error {
	var v []error
	if err := c.Config.Validate(); err != nil {
		v = append(v, err)
	}
	if c.Max < 0 || c.Max > maxGroupMax {
		v = append(v, fmt.Errorf("atomicbreaker: GroupConfig.Max is %d, want 1 to %d", c.Max, maxGroupMax))
	}
	if d := c.IdleTime; d != 0 && (d < minDuration || d > maxDuration) {
		v = append(v, fmt.Errorf("atomicbreaker: GroupConfig.IdleTime is %v, want %v to %v", d, minDuration, maxDuration))
	}
	return errors.Join(v...)
}
