package breakerlease

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// A seat is one breaker's place at a Lease. It holds the breaker weakly, so
// that it keeps none alive.
type seat struct {
	lease   Lease
	options Options
	clock   clock.Clock
	rand    func() float64
	before  func(atomicbreaker.CooldownOver) time.Duration // the user's own; may be nil

	of    atomic.Pointer[weak.Pointer[atomicbreaker.Breaker]]
	asked atomic.Pointer[question] // the latest; written by the breaker's worker
	held  atomic.Pointer[grant]    // who takes it out tells what became of it
	lone  atomic.Uint64            // markOf the half-open generation that began alone
	told  atomic.Uint64            // markOf the lone generation whose first success was told of
	alone atomic.Bool              // the last half-open episode began alone
	out   atomic.Int32             // calls of the Lease that have not come back

	granted, refused, failed atomic.Uint64
	lastError                atomic.Pointer[string]
	holder                   atomic.Pointer[string]
}

// grant is a lease that the breaker is half-open under, or about to be.
type grant struct {
	token Token
	gen   uint32
	told  atomic.Bool // of the first success
}

// markOf is a generation as a value that is never 0.
func markOf(gen uint32) uint64 { return 1<<32 | uint64(gen) }

var (
	errLate   = errors.New("breakerlease: the Lease has not answered within Options.Timeout")
	errStuck  = errors.New("breakerlease: earlier calls of the Lease have not come back")
	errEnded  = errors.New("breakerlease: the Lease panicked or ended its goroutine")
	errShared = errors.New("breakerlease: the Config that Join returned was used for a second breaker, which takes no part; call Join for each")
)

// seats are those of all breakers that have one.
var seats sync.Map // weak.Pointer[atomicbreaker.Breaker] to *seat

// bind makes the seat b's, unless it is another's. It reports whether it is b's.
func (s *seat) bind(b *atomicbreaker.Breaker) bool {
	p := weak.Make(b)
	if of := s.of.Load(); of != nil {
		return *of == p
	}
	if _, sits := seats.LoadOrStore(p, s); sits {
		return false
	}
	s.of.Store(&p)
	runtime.AddCleanup(b, func(p weak.Pointer[atomicbreaker.Breaker]) { seats.Delete(p) }, p)
	return true
}

func (s *seat) breaker() *atomicbreaker.Breaker {
	if of := s.of.Load(); of != nil {
		return of.Value()
	}
	return nil
}

func (s *seat) timeout() time.Duration {
	if s.options.timeout != nil {
		return s.options.timeout()
	}
	return s.options.Timeout
}

// goAlone makes the next generation one that began alone.
func (s *seat) goAlone(over atomicbreaker.CooldownOver) time.Duration {
	s.lone.Store(markOf(over.Generation + 1)) // before the state: whoever sees the change is told why
	return 0
}

func (s *seat) fail(err error) {
	s.failed.Add(1)
	text := err.Error()
	s.lastError.Store(&text)
}

// transition is the breaker's OnTransition: it ends a lease with its generation.
func (s *seat) transition(t atomicbreaker.Transition) {
	if t.To == atomicbreaker.StateHalfOpen {
		s.alone.Store(s.lone.Load() == markOf(t.Generation))
	}
	if g := s.held.Load(); g != nil && int32(t.Generation-g.gen) > 0 && s.held.CompareAndSwap(g, nil) {
		s.tell(s.verdictOn(g, t))
	}
	if t.Reason == atomicbreaker.ReasonRecovered && s.lone.Load() == markOf(t.Generation-1) {
		s.tell(News{Alone: true, Verdict: Recovered})
	}
}

// verdictOn is the news of a lease that t has ended.
func (s *seat) verdictOn(g *grant, t atomicbreaker.Transition) News {
	n := News{Token: g.token}
	if t.Generation != g.gen+1 {
		return n
	}
	switch t.Reason {
	case atomicbreaker.ReasonRecovered:
		n.Verdict = Recovered
	case atomicbreaker.ReasonProbeFailed, atomicbreaker.ReasonProbeTimeout:
		n.Verdict = Reopened
		if b := s.breaker(); b != nil {
			n.Cooldown = b.RetryAfter()
		}
	}
	return n
}

// probe is the breaker's OnProbe: the first success is told of as it comes,
// because what the others wait for is a sign of life, not the closing.
func (s *seat) probe(p atomicbreaker.Probe) {
	if p.Outcome != atomicbreaker.Success || p.Slow {
		return
	}
	g := s.held.Load()
	mark := markOf(p.Generation)
	switch {
	case g != nil && g.gen == p.Generation:
		if !g.told.Load() && !g.told.Swap(true) {
			s.tell(News{Token: g.token, Verdict: Answered})
		}
	case s.lone.Load() == mark:
		if s.told.Load() != mark && s.told.Swap(mark) != mark {
			s.tell(News{Alone: true, Verdict: Answered})
		}
	}
}
