package breakerhttp

import (
	"sync"
	"time"
)

// budget bounds how often requests are repeated, by two rules. The share of
// repetitions among the requests of the last seconds is the rule that users
// know. It cannot tell one sick backend, where every repetition helps, from an
// outage of all, where every one makes it worse. So a repetition also
// takes a credit that it gives back by succeeding: what fails is bounded by
// the credit, and by what successes and time bring in.
type budget struct {
	share float64

	mu       sync.Mutex
	second   int64 // the newest of the buckets
	requests [budgetSeconds]int
	retries  [budgetSeconds]int
	credit   float64
	at       time.Duration // when time last brought something in
}

const (
	budgetSeconds = 10
	fewRetries    = 10   // allowed whatever the share
	creditShare   = 0.04 // of the requests of the last seconds
	leastCredit   = 3    // the most there can be while there are few requests
	creditTime    = 80 * time.Second
)

func newBudget(share float64, now time.Duration) *budget {
	return &budget{share: share, credit: leastCredit, at: now, second: int64(now / time.Second)}
}

// request counts a new request.
func (b *budget) request(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	b.requests[b.second%budgetSeconds]++
}

// take reports whether a request may be repeated, and counts it.
func (b *budget) take(now time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isOff(b.share) {
		return false
	}
	b.turn(now)
	retries := float64(sum(b.retries)) + 1
	if b.credit < 1 || retries > max(fewRetries, b.share*float64(sum(b.requests))) {
		return false
	}
	b.credit--
	b.retries[b.second%budgetSeconds]++
	return true
}

// served tells of a success, of a request that was repeated or not.
func (b *budget) served(repeated bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if repeated {
		b.credit++
	} else {
		b.credit += max(b.share, 0)
	}
	b.credit = min(b.credit, b.most())
}

func (b *budget) most() float64 {
	return max(leastCredit, creditShare*float64(sum(b.requests)))
}

// turn empties the buckets that are over and lets time bring in its part.
func (b *budget) turn(now time.Duration) {
	second := int64(now / time.Second)
	for range min(second-b.second, budgetSeconds) {
		b.second++
		b.requests[b.second%budgetSeconds], b.retries[b.second%budgetSeconds] = 0, 0
	}
	b.second = max(b.second, second)
	if now > b.at {
		most := b.most()
		b.credit = min(most, b.credit+most*float64(now-b.at)/float64(creditTime))
		b.at = now
	}
}

func sum(counts [budgetSeconds]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
