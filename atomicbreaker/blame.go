package atomicbreaker

import (
	"context"
	"errors"
	"time"
)

// Whose doing it was that a call failed.

// firstPatience is for a cancelled call as long as too few latencies are known.
const firstPatience = time.Second

// withoutAsking is what an error says about health, if that is no question for
// Classify: another breaker let nobody ask the dependency, or the caller's own
// context has ended.
func (t *Ticket) withoutAsking(ctx context.Context, err error) (Outcome, bool) {
	if ctx == nil {
		panic("atomicbreaker: Done with a nil context: pass the caller's context, or settle with Report")
	}
	if IsRejected(err) {
		return Ignored, true
	}
	if ended := ctx.Err(); ended != nil {
		return t.blame(ended), true
	}
	return Failure, false
}

// blame says whether a call whose context has ended is the dependency's fault: it
// is if the dependency was given enough time.
func (t *Ticket) blame(ended error) Outcome {
	b := t.breaker
	left := errors.Is(ended, context.Canceled)
	if left && t.claim.has(claimAnswered) {
		return Local // a stream ends so
	}
	patience := b.cfg().Patience
	if patience == Off {
		return localIf(left)
	}
	s := b.sampler.Load()
	if patience == 0 {
		switch {
		case s != nil && s.highLatency() > 0:
			patience = 2 * s.highLatency()
		case left:
			patience = firstPatience
		default:
			return Failure
		}
	}
	now := b.cfg().Clock.Now()
	if !t.claim.has(claimTimed) {
		if failed, ok := b.lately(s, now); ok {
			return localIf(!failed)
		}
		return Local
	}
	failed := passed(t.start, now) >= patience
	if s != nil {
		s.blamed.Store(b.verdictAt(now, failed))
	}
	return localIf(!failed)
}

func localIf(local bool) Outcome {
	if local {
		return Local
	}
	return Failure
}

// verdictAt packs when and how a call whose context had ended was judged last.
func (b *Breaker) verdictAt(now time.Duration, failed bool) int64 {
	v := int64(passed(b.madeAt, now)/time.Microsecond+1) << 1
	if failed {
		v |= 1
	}
	return v
}

// lately returns how the last call was judged whose context had ended and that was
// timed, if that is not too long ago: what was not timed follows it. Of calls
// that end so, a few are timed in each second.
func (b *Breaker) lately(s *sampler, now time.Duration) (failed, ok bool) {
	if s == nil {
		return false, false
	}
	v := s.blamed.Load()
	ago := b.verdictAt(now, false)>>1 - v>>1
	return v&1 != 0, v != 0 && ago >= 0 && time.Duration(ago)*time.Microsecond <= sampleOutFor
}
