package atomicbreaker

import (
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// streak counts the failures since the last success, for one generation:
//
//	 63           32 31            0
//	+---------------+---------------+
//	|  generation   |    length     |
//	+---------------+---------------+
//
// It is one word for all goroutines, and stays cheap by being seldom written:
// where several stripes are in use, a failure is counted only if the one before it on
// its stripe was a failure too, so that lone failures stay on their stripe,
// and a success has something to end only when failures came in a row. So a
// streak is never seen early, and late by at most one failure per stripe.
type streak struct {
	v  atomic.Uint64
	at atomic.Int64 // the instant at which a streak was patientFrom long, the last one that was
}

const streakLength = 1<<32 - 1

// add counts a failure and returns the length of the streak.
func (k *streak) add(gen uint32) uint32 {
	for {
		v := k.v.Load()
		next := v + 1
		switch g := uint32(v >> 32); {
		case g == gen && v&streakLength == streakLength:
			return streakLength
		case g == gen:
		case int32(g-gen) > 0:
			return 0 // the generation is over
		default:
			next = uint64(gen)<<32 + 1
		}
		if k.v.CompareAndSwap(v, next) {
			return uint32(next)
		}
	}
}

// end forgets the streak of a generation.
func (k *streak) end(gen uint32) {
	for {
		v := k.v.Load()
		if uint32(v>>32) != gen || v&streakLength == 0 || k.v.CompareAndSwap(v, v&^streakLength) {
			return
		}
	}
}

// exactStreak is the longest limit for which every failure is shared.
const exactStreak = 3

// noteBad notes a failure or a slow success on its stripe and returns the
// length of the streak, zero where it is not counted.
func (b *Breaker) noteBad(s ring.Stripe, gen uint32, k ring.Kind) uint32 {
	if k == ring.Success {
		b.endStreak(s, gen)
		return 0
	}
	limit := b.cfg().ConsecutiveFailures
	if limit == Off {
		return 0
	}
	if limit > exactStreak && b.ring.InUse() > 1 && !s.Failing() {
		s.SetFailing(true)
		return 0
	}
	run := b.streak.add(gen)
	if run == patientFrom && b.cfg().streakByDefault {
		raise(&b.streak.at, int64(b.cfg().Clock.Now()))
	}
	return run
}

func (b *Breaker) endStreak(s ring.Stripe, gen uint32) {
	if s.Failing() {
		s.SetFailing(false)
	}
	b.streak.end(gen)
}

// A streak is the order in which calls are settled, not of time: calls that run
// into their deadline at one instant, after a stall of the dependency or of the
// network, are a streak among thousands of successes. So a streak of the default
// limit trips only if it lasts: a twentieth of a second since it was patientFrom
// long. That is longer than such an instant, and costs little in front of a
// dependency that is dead. A limit that the user sets is exact.
const (
	patientFrom = 5
	patience    = 50 * time.Millisecond
)

// lasts reports whether a streak that reaches the limit has lasted long enough
// at an instant.
func (b *Breaker) lasts(now time.Duration) bool {
	return !b.cfg().streakByDefault || passed(time.Duration(b.streak.at.Load()), now) >= patience
}

// streakMet reports whether a streak reaches the limit.
func (b *Breaker) streakMet(run uint32) bool {
	return b.cfg().ConsecutiveFailures != Off && run >= uint32(b.cfg().ConsecutiveFailures)
}
