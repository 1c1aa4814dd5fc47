package atomicbreaker

import "time"

// rest is what a Group asks before it drops a breaker: for how long nothing
// has been learnt, and whether something keeps the breaker.
type rest struct {
	idle  time.Duration // since the last outcome or change of state; an outcome's time is known to a bucket
	stamp uint64        // WindowCalls only, where outcomes have no time: differs after every outcome
	keep  time.Duration // 0, or for how long at least the breaker must not be dropped
}

// keepBusy is how long a breaker is left alone whose probe is in flight or that an operator holds.
const keepBusy = time.Second

// rest reads what others maintain: no call pays for it.
func (b *Breaker) rest() rest {
	w, now := b.load(), b.cfg().Clock.Now()
	last := b.since(w)
	var r rest
	switch {
	case w.mode() != b.cfg().Mode: // dropping it would lift an operator's command
		r.keep = keepBusy
	case w.phase() == phaseOpen && !w.forced():
		r.keep = b.retryAfter(w, now)
	case w.phase() == phaseHalfOpen:
		last = b.silentSince(w)
		if w.inFlight() > 0 {
			r.keep = keepBusy
		}
	case b.last != nil:
		if h := b.last.Head(); b.last.Live(h, w.generation()) {
			r.stamp = b.last.Stamp()
		}
	default:
		if number, ok := b.ring.Newest(w.generation(), b.bucketNumber(now)); ok {
			last = max(last, later(b.madeAt+time.Duration(number)*b.cfg().bucket, b.cfg().bucket)) // the bucket's end
		}
	}
	r.idle = passed(last, now)
	return r
}
