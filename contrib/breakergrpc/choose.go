package breakergrpc

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"
)

// picker picks among the backends that are connected.
type picker struct {
	backends []pickable
	coming   []*atomicbreaker.Breaker // of those that are being connected
	classify func(error) atomicbreaker.Outcome
	choice   Choice
	maxOpen  float64 // 0 is no limit
	weighted bool    // the weights differ
	turn     atomic.Uint32
	turning  sync.Mutex // guards pickable.turn
}

type pickable struct {
	picker  balancer.Picker
	breaker *atomicbreaker.Breaker
	past    *atomicbreaker.Breaker // counts what goes past breaker; nil without a limit
	load    *load                  // may be nil
	weight  float64
	turn    float64
}

// load is how many tries of a backend are under way. It outlives a picker.
type load struct{ inFlight atomic.Int64 }

func (l *load) add(n int64) {
	if l != nil {
		l.inFlight.Add(n)
	}
}

func (l *load) now() int64 {
	if l == nil {
		return 0
	}
	return l.inFlight.Load()
}

// way is how an RPC gets to the chosen backend.
type way int

const (
	refused  way = iota // not at all: for the refusal
	admitted            // by its breaker, which was ready
	beyond              // past its breaker, which refuses
)

// choose returns a backend among those that are ready, or that go on because
// too many refuse, or else the one that will be ready first.
func (p *picker) choose(turn uint32) (*pickable, way) {
	var room, more [16]*pickable
	ready, sick := room[:0], more[:0]
	for i := range p.backends {
		if b := &p.backends[i]; b.breaker.Ready() {
			ready = append(ready, b)
		} else if !maxopen.HeldOpen(b.breaker) {
			sick = append(sick, b)
		}
	}
	healthy := len(ready)
	if p.maxOpen > 0 && len(sick) > 0 {
		if over := len(sick) - maxopen.Allowed(p.maxOpen, len(p.backends)+len(p.coming)); over > 0 {
			ready = append(ready, maxopen.LeastSick(sick, over, (*pickable).pastAndLoad)...)
		}
	}
	if len(ready) == 0 {
		return p.soonest(), refused
	}
	i := p.pick(ready, turn)
	if i < healthy {
		return ready[i], admitted
	}
	return ready[i], beyond
}

func (b *pickable) pastAndLoad() (*atomicbreaker.Breaker, int64) { return b.past, b.load.now() }

// pick returns the place of the one to take.
func (p *picker) pick(from []*pickable, turn uint32) int {
	switch {
	case len(from) == 1:
		return 0
	case p.choice == LeastRequest:
		a := byWeight(from, -1)
		if b := byWeight(from, a); from[b].busy() < from[a].busy() {
			return b
		}
		return a
	case p.weighted:
		return p.inTurn(from)
	}
	return int(turn % uint32(len(from)))
}

// busy is the load in proportion to the weight.
func (b *pickable) busy() float64 { return float64(b.load.now()+1) / b.weight }

// byWeight draws one at random, in proportion to the weights, but not.
func byWeight(from []*pickable, not int) (last int) {
	var sum float64
	for i, b := range from {
		if i != not {
			sum += b.weight
		}
	}
	r := rand.Float64() * sum
	for i, b := range from {
		if i == not {
			continue
		}
		last = i
		if r -= b.weight; r < 0 {
			break
		}
	}
	return last
}

// inTurn is nginx's smooth weighted round robin: each gains its weight, the
// one that has most is taken and pays what all gained.
func (p *picker) inTurn(from []*pickable) (best int) {
	p.turning.Lock()
	defer p.turning.Unlock()
	var sum float64
	for i, b := range from {
		sum += b.weight
		if b.turn += b.weight; b.turn > from[best].turn+1e-9 {
			best = i
		}
	}
	from[best].turn -= sum
	return best
}

// soonest returns the backend that will be ready first.
func (p *picker) soonest() *pickable {
	chosen := &p.backends[0]
	wait := waitFor(chosen.breaker)
	for i := range p.backends {
		if w := waitFor(p.backends[i].breaker); w < wait {
			chosen, wait = &p.backends[i], w
		}
	}
	return chosen
}

// waitFor orders breakers that are not ready: half-open, open, forced open.
func waitFor(b *atomicbreaker.Breaker) time.Duration {
	if maxopen.HeldOpen(b) {
		return 1<<63 - 1
	}
	return b.RetryAfter()
}

type weightKey struct{}

// SetWeight returns the endpoint with a weight, for a resolver: its share of
// the tries in proportion to the others', above 0 to 1000. An endpoint without
// one, or with one out of range, has 1.
func SetWeight(e resolver.Endpoint, weight float64) resolver.Endpoint {
	if e.Attributes == nil {
		e.Attributes = attributes.New(weightKey{}, weight)
	} else {
		e.Attributes = e.Attributes.WithValue(weightKey{}, weight)
	}
	return e
}

func weightOf(e resolver.Endpoint) float64 {
	if w, ok := e.Attributes.Value(weightKey{}).(float64); ok && w > 0 && w <= 1000 {
		return w
	}
	return 1
}
