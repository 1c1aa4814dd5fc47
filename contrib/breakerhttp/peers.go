package breakerhttp

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// peer is how a backend has done of late, compared with the others: moving
// averages over some 32 exchanges, or those of some seconds where they are few;
// of latencies the geometric one, as it is about how many times. It bounds what a sick member costs before
// its breaker opens, or where it is not sick enough for that.
type peer struct {
	mu      sync.Mutex
	latency float64       // to the header, of answers that are no failures: the logarithm of the seconds
	failed  float64       // the share
	calls   int           // up to enough
	answers int           // of these no failures
	at      time.Duration // of the last exchange
	less    atomic.Uint64 // the bits of how many times less it gets; 0 is 1
}

const (
	peerWeight  = 1.0 / 32               // of an exchange in the averages, at least
	mostWeight  = 1.0 / 3                // at most, after a second without one
	enough      = 20                     // exchanges before a peer is compared
	mostLess    = 10                     // so that it goes on being measured
	compareTime = 100 * time.Millisecond // how often
	leastSlower = 0.002                  // seconds; below that all are alike
	leastSicker = 0.1
)

func (p *peer) share() float64 {
	if bits := p.less.Load(); bits != 0 {
		return 1 / math.Float64frombits(bits)
	}
	return 1
}

func (p *peer) add(now, latency time.Duration, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := 0.0
	if failed {
		f = 1
	}
	w := min(max(peerWeight, (now-p.at).Seconds()), mostWeight)
	p.at = now
	if p.calls < enough {
		p.calls++
		w = max(w, 1/float64(p.calls))
	}
	p.failed += w * (f - p.failed)
	if !failed {
		p.answers = min(p.answers+1, enough)
		w = max(w, 1/float64(p.answers))
		p.latency += w * (math.Log(max(latency.Seconds(), leastSlower)) - p.latency)
	}
}

// forget begins anew, for a backend whose breaker has taken over.
func (p *peer) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency, p.failed, p.calls, p.answers = 0, 0, 0, 0
	p.less.Store(0)
}

func (p *peer) figures() (latency, failed float64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == 0 {
		return leastSlower, p.failed, p.calls >= enough
	}
	return math.Exp(p.latency), p.failed, p.calls >= enough
}

// peers compares the members now and then.
type peers struct{ next atomic.Int64 }

// measured takes in an exchange with b.
func (p *Pool) measured(b *Backend, now, latency time.Duration, failed bool) {
	if isOff(p.config.Outlier) {
		return
	}
	if b.breaker.State() != atomicbreaker.StateClosed {
		b.peer.forget() // the breaker says how much it gets
		return
	}
	b.peer.add(now, latency, failed)
	due := p.peers.next.Load()
	if int64(now) < due || !p.peers.next.CompareAndSwap(due, int64(now+compareTime)) {
		return
	}
	members := *p.members.Load()
	for _, b := range members {
		b.peer.less.Store(math.Float64bits(p.behind(b, members)))
	}
}

// behind returns how many times less a member should get than its peers do,
// 1 to mostLess.
func (p *Pool) behind(b *Backend, members []*Backend) float64 {
	latency, failed, known := b.peer.figures()
	if !known {
		return 1
	}
	var latencies, shares []float64
	for _, other := range members {
		if l, f, known := other.peer.figures(); known && other != b && !other.drained.Load() {
			latencies, shares = append(latencies, l), append(shares, f)
		}
	}
	if len(latencies) == 0 {
		return 1
	}
	less := 1.0
	if usual := median(latencies); latency > p.config.Outlier*usual {
		less = latency / (p.config.Outlier * usual)
	}
	if more := failed - median(shares); more > leastSicker {
		less = max(less, 1+more*2*mostLess)
	}
	return min(less, mostLess)
}

// median returns the lower one of two in the middle.
func median(s []float64) float64 {
	slices.Sort(s)
	return s[(len(s)-1)/2]
}
