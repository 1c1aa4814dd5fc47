package breakerlease

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// Options say how a breaker uses its Lease. The zero value is valid.
type Options struct {
	// Timeout is how long to wait for an answer, 1 ms to 10 s. Default: 10 ms.
	Timeout time.Duration

	// Patience is how long a breaker waits after its cooldown while one lease of
	// another keeps it from probing, 1 ms to 24 h. Then it probes alone. When another
	// breaker gets the lease, the time begins again. Default: the breaker's Cooldown.Max.
	Patience time.Duration

	timeout func() time.Duration // in the place of Timeout, where that was left out
}

const defaultTimeout = 10 * time.Millisecond

// New makes a breaker that asks l.
func New(c atomicbreaker.Config, l Lease, o Options) (*atomicbreaker.Breaker, error) {
	c, s, err := join(c, l, o)
	if err != nil {
		return nil, errors.Join(err, c.Validate())
	}
	b, err := atomicbreaker.New(c)
	if err == nil {
		s.bind(b)
	}
	return b, err
}

// Join returns the Config for one breaker that asks l. It is for breakers that are
// made elsewhere, such as by a Group. The hooks of c are kept: BeforeProbe is called
// before the Lease is asked, OnTransition and OnProbe after the Lease has got the
// news. Use the result for one breaker only; a second one probes alone.
func Join(c atomicbreaker.Config, l Lease, o Options) (atomicbreaker.Config, error) {
	c, _, err := join(c, l, o)
	return c, err
}

func join(c atomicbreaker.Config, l Lease, o Options) (atomicbreaker.Config, *seat, error) {
	if err := o.validate(l); err != nil {
		return c, nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	s := &seat{lease: l, options: o, clock: c.Clock, rand: c.Rand, before: c.BeforeProbe}
	if s.rand == nil {
		s.rand = rand.Float64
	}
	c.BeforeProbe = s.hold
	c.OnTransition = atomicbreaker.Transitions(s.transition, c.OnTransition)
	theirs := c.OnProbe
	c.OnProbe = func(p atomicbreaker.Probe) {
		s.probe(p)
		if theirs != nil {
			theirs(p)
		}
	}
	return c, s, nil
}

func (o Options) validate(l Lease) error {
	var faults []error
	if l == nil {
		faults = append(faults, errors.New("breakerlease: the Lease is nil, want one"))
	}
	if o.Timeout != 0 && (o.Timeout < time.Millisecond || o.Timeout > 10*time.Second) {
		faults = append(faults, fmt.Errorf("breakerlease: Options.Timeout is %v, want 1ms to 10s", o.Timeout))
	}
	if o.Patience != 0 && (o.Patience < time.Millisecond || o.Patience > 24*time.Hour) {
		faults = append(faults, fmt.Errorf("breakerlease: Options.Patience is %v, want 1ms to 24h", o.Patience))
	}
	return errors.Join(faults...)
}
