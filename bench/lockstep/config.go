package lockstep

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// headerLen is the number of bytes that choose the configuration, one for each
// setting.
const headerLen = 26

const (
	us  = time.Microsecond
	ms  = time.Millisecond
	sec = time.Second
	off = atomicbreaker.Off
)

// panicValue is what the user code of a program panics with.
type panicValue string

// The errors that a program reports, one for each thing that Classify does.
var (
	errPlain   = errors.New("plain")
	errBenign  = errors.New("benign")
	errNeutral = errors.New("neutral")
	errUnknown = errors.New("unknown")
	errPanics  = errors.New("panics")
)

var someErrors = [...]error{errPlain, errBenign, errNeutral, errUnknown, errPanics}

// header picks settings from lists by one byte each.
type header struct{ rest []byte }

func pick[T any](h *header, from ...T) T {
	if len(h.rest) == 0 {
		return from[0]
	}
	b := h.rest[0]
	h.rest = h.rest[1:]
	return from[int(b)%len(from)]
}

// configure makes the player's configuration from a program's header. The
// first entry of every list is the default. It also returns how far the clock
// has come when the breaker is made.
func (p *player) configure(from []byte) (c atomicbreaker.Config, epoch time.Duration) {
	h := &header{from}
	c.Name = pick(h, "", "db")
	kind, window, buckets := pick(h, 0, 1, 2), pick(h, 10*sec, 100*ms, sec, 60*sec), pick(h, 10, 1, 2, 5, 20, 100)
	calls := pick(h, 10, 1, 2, 3, 5, 20, 63, 64, 65, 100, 128, 1024)
	switch kind {
	case 1:
		c.Window, c.Buckets = window, buckets
	case 2:
		c.WindowCalls = calls
	}
	c.MinimumCalls = pick(h, 0, 1, 2, 3, 5, 20)
	if c.WindowCalls > 0 {
		c.MinimumCalls = min(c.MinimumCalls, c.WindowCalls)
	}
	c.FailureRate = pick(h, 0, 0.5, 1, off, 0.1, 1.0/3, 0.7, 0.99, 0.03)
	c.ConsecutiveFailures = pick(h, 0, off, 1, 2, 3, 4, 7)
	c.SlowCallDuration = pick(h, 0, off, 10*ms, us, 300*ms, 2*sec)
	if slowRate := pick(h, 0, 0.1, 0.9, off, 1); c.SlowCallDuration > 0 {
		c.SlowCallRate = slowRate
	}
	c.ReadyToTrip = p.predicate(pick(h, 0, 0, 0, 1, 2, 3, 4))
	if c.FailureRate == off && c.ConsecutiveFailures == off && c.ReadyToTrip == nil && (c.SlowCallDuration <= 0 || c.SlowCallRate == off) {
		c.ConsecutiveFailures = 0 // some rule has to be on
	}

	c.Cooldown.Min = pick(h, 0, 100*ms, 5*ms, 3*sec)
	c.Cooldown.Max = pick(h, 0, 10*sec, sec, 30*sec)
	if c.Cooldown.Max != 0 {
		c.Cooldown.Max = max(c.Cooldown.Max, c.Cooldown.Min, 500*ms)
	}
	c.Cooldown.Factor = pick(h, 0.0, 0, 1, 2, 1.5, 16)
	c.Cooldown.Jitter = pick(h, off, 0, 0.5, 0.99)

	c.Recovery.Probes = pick(h, 0, 0, 0, 1, 2, 3, 5, 10)
	c.Recovery.Successes = min(pick(h, 0, 1, 2, 4), c.Recovery.Probes)
	c.Recovery.Concurrent = min(pick(h, 0, 1, 2, 3), c.Recovery.Probes)
	c.Recovery.Quiet = pick(h, 0, 200*ms, 20*ms, 3*sec)
	c.Recovery.ProbeTimeout = pick(h, 0, sec, 200*ms, 5*sec, 2*sec)

	// The breakers behind a lock take no samples and learn nothing from them.
	c.Deadline, c.Patience = off, off
	if c.ConsecutiveFailures == 0 && c.MinimumCalls == 0 {
		c.ConsecutiveFailures = 20 // as set by the user, no rule goes by ticks
	}

	c.Classify = p.classifier(pick(h, 0, 1))
	c.OnTransition = p.listener(pick(h, 0, 0, 1, 2, 3))
	c.Rand = p.randomness(pick[uint64](h, 0, 1, 2, 3, 4, 5, 6, 7))
	c.Stripes = pick(h, 0, 1, 4)
	c.Mode = pick(h, atomicbreaker.Auto, atomicbreaker.Auto, atomicbreaker.Auto, atomicbreaker.Shadow, atomicbreaker.ForcedOpen, atomicbreaker.ForcedClosed)
	return c, pick(h, 0, 7*ms+3, 1234567*sec)
}

// predicate is one of the user's rules. What it is asked is noted.
func (p *player) predicate(kind int) func(atomicbreaker.Counts) bool {
	if kind == 0 {
		return nil
	}
	return func(c atomicbreaker.Counts) bool {
		p.notes.asked++
		p.notes.askedAbout = c
		switch kind {
		case 1:
			return c.Failures >= 4
		case 2:
			return c.Slow >= 2
		case 4: // asked about a generation that it then ends itself
			if c.Calls%5 == 4 {
				p.b.Reset()
			}
			return c.Failures >= 4
		default:
			if c.Calls%7 == 6 {
				panic(panicValue("ReadyToTrip"))
			}
			return c.Calls%11 == 10
		}
	}
}

// classifier is the user's classification.
func (p *player) classifier(kind int) func(error) atomicbreaker.Outcome {
	if kind == 0 {
		return nil
	}
	return func(err error) atomicbreaker.Outcome {
		p.notes.classified++
		switch {
		case errors.Is(err, errBenign):
			return atomicbreaker.Success
		case errors.Is(err, errNeutral):
			return atomicbreaker.Ignored
		case errors.Is(err, errUnknown):
			return 7
		case errors.Is(err, errPanics):
			panic(panicValue("Classify"))
		default:
			return atomicbreaker.Failure
		}
	}
}

// listener notes what is announced, and by kind does nothing else, panics now
// and then, looks at the breaker, or gives it commands.
func (p *player) listener(kind int) func(atomicbreaker.Transition) {
	return func(e atomicbreaker.Transition) {
		p.events = append(p.events, e)
		switch {
		case kind == 1 && e.Generation%3 == 0:
			panic(panicValue("OnTransition"))
		case kind == 2:
			p.notes.sawState = p.b.State()
			p.notes.sawGeneration = p.b.Snapshot().Generation
			p.notes.sawReady = p.b.Ready()
		case kind == 3 && e.Generation%5 == 1:
			p.b.Reset()
		case kind == 3 && e.Generation%5 == 3:
			p.b.Trip()
		}
	}
}

// randomness draws a sequence of its own for every seed, the ends of the range
// included.
func (p *player) randomness(seed uint64) func() float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	return func() float64 {
		p.notes.draws++
		switch random.IntN(8) {
		case 0:
			return 0
		case 1:
			return 1 - 1.0/(1<<53)
		default:
			return random.Float64()
		}
	}
}
