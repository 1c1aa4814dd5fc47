package breakerhttp

import (
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
)

// way is how a request gets to the chosen backend.
type way int

const (
	refused  way = iota // not at all: for the refusal
	admitted            // by its breaker, which was ready
	beyond              // past its breaker, which refuses
)

// choose returns a backend for the request that was not tried yet, or the one
// that will be ready first, or nil if there is none at all.
func (p *Pool) choose(req *http.Request, tried []*Backend) (*Backend, way) {
	var room, more [16]*Backend
	ready, sick, soonest, takes := p.sort(tried, room[:0], more[:0])
	if over := len(sick) - maxopen.Allowed(p.config.MaxOpen, takes); over > 0 {
		sick = slices.DeleteFunc(sick, func(b *Backend) bool { return slices.Contains(tried, b) })
		ready = append(ready, maxopen.LeastSick(sick, over, (*Backend).past)...)
	}
	if len(ready) == 0 {
		return soonest, refused
	}
	b := p.pick(req, p.upToPeers(ready))
	if slices.Contains(sick, b) {
		return b, beyond
	}
	return b, admitted
}

// sort tells who is ready of those that were not tried, who refuses of all
// (open, or half-open with all places taken), who will be ready first, and how many take requests.
func (p *Pool) sort(tried []*Backend, ready, refusing []*Backend) (_, _ []*Backend, soonest *Backend, takes int) {
	var wait time.Duration
	var downs int
	for _, b := range *p.members.Load() {
		if b.drained.Load() {
			continue
		}
		takes++
		isReady := b.breaker.Ready()
		if !isReady && !maxopen.HeldOpen(b.breaker) {
			refusing = append(refusing, b)
		}
		if slices.Contains(tried, b) {
			continue
		}
		if isReady {
			ready = append(ready, b)
			if b.down.Load() {
				downs++
			}
		} else if w := waitFor(b.breaker); soonest == nil || w < wait {
			soonest, wait = b, w
		}
	}
	// Active checks are believed as long as they leave enough members.
	if downs > 0 && downs < len(ready) && downs <= maxopen.Allowed(p.config.MaxOpen, takes) {
		ready = slices.DeleteFunc(ready, (*Backend).Down)
	}
	return ready, refusing, soonest, takes
}

// upToPeers leaves those out, most of the time, that are behind their peers.
func (p *Pool) upToPeers(ready []*Backend) []*Backend {
	if isOff(p.config.Outlier) || len(ready) == 1 {
		return ready
	}
	kept := ready
	for i := len(ready) - 1; i >= 0; i-- {
		if s := ready[i].peer.share(); s < 1 && rand.Float64() >= s && len(kept) > 1 {
			kept = slices.Delete(slices.Clone(kept), slices.Index(kept, ready[i]), slices.Index(kept, ready[i])+1)
		}
	}
	return kept
}

// pick takes one of those that may be asked.
func (p *Pool) pick(req *http.Request, from []*Backend) *Backend {
	if len(from) == 1 {
		return from[0]
	}
	if p.config.Key != nil && req != nil {
		if key := p.config.Key(req); key != "" {
			return rendezvous(key, from)
		}
	}
	if p.config.Choice == RoundRobin {
		return p.inTurn(from, req != nil)
	}
	a := byWeight(from, nil)
	if b := byWeight(from, a); b.load() < a.load() {
		return b
	}
	return a
}

func (b *Backend) load() float64 { return float64(b.send.inFlight.Load()+1) / b.Weight() }

// byWeight draws one at random, in proportion to the weights, but not.
func byWeight(from []*Backend, not *Backend) *Backend {
	var sum float64
	for _, b := range from {
		if b != not {
			sum += b.Weight()
		}
	}
	r := rand.Float64() * sum
	var last *Backend
	for _, b := range from {
		if b == not {
			continue
		}
		last = b
		if r -= b.Weight(); r < 0 {
			break
		}
	}
	return last
}

// inTurn is nginx's smooth weighted round robin: each gains its weight, the
// one that has most is taken and pays what all gained. Those that are not
// ready do not take part, so that their share goes to all others alike.
func (p *Pool) inTurn(from []*Backend, pay bool) *Backend {
	p.turning.Lock()
	defer p.turning.Unlock()
	var sum float64
	best := from[0]
	if !pay {
		return best
	}
	for _, b := range from {
		w := b.Weight()
		sum += w
		if b.turn += w; b.turn > best.turn+1e-9 {
			best = b
		}
	}
	best.turn -= sum
	return best
}

// rendezvous takes the backend with the highest score for the key, so that a
// change of members moves only keys of those that came or went. See Thaler and
// Ravishankar, Using Name-Based Mappings to Increase Hit Rates, 1998; the
// weights are as in Schindelhauer and Schomaker, Weighted Distributed Hash
// Tables, 2005.
func rendezvous(key string, from []*Backend) *Backend {
	var best *Backend
	var most float64
	for _, b := range from {
		h := float64(hash(key, b.address)>>11+1) / (1<<53 + 1) // above 0, below 1
		if score := -b.Weight() / math.Log(h); best == nil || score > most {
			best, most = b, score
		}
	}
	return best
}

// hash is FNV-1a over both, mixed by the finaliser of MurmurHash3, as FNV
// spreads the last bytes too little. Processes must agree on it.
func hash(key, address string) uint64 {
	h := uint64(14695981039346656037)
	for _, s := range [2]string{key, address} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// waitFor orders breakers that are not ready: half-open, open, forced open.
func waitFor(b *atomicbreaker.Breaker) time.Duration {
	if maxopen.HeldOpen(b) {
		return 1<<63 - 1
	}
	return b.RetryAfter()
}
