package atomicbreaker

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// leasing is what a breaker with a Lease needs beside the rest. It exists only
// then, so that others pay a pointer, and no call reads it: the worker asks
// when a cooldown is over, and tells when a half-open generation is. The
// fields that are not atomic are the worker's own.
type leasing struct {
	lease   Lease
	timeout time.Duration

	asked *question // of the open generation; nil: none yet
	again bool      // it was refused: ask again at retry
	held  *grant    // of the half-open generation; nil: none

	out      atomic.Int32  // calls of the Lease that have not come back
	retry    atomic.Int64  // instant of the next question
	ended    atomic.Uint64 // why the last half-open generation ended, below its number
	answered atomic.Uint64 // markOf the half-open generation that had a success
	holding  atomic.Uint64 // markOf the half-open generation that began under a grant

	alone                    atomic.Bool
	granted, refused, failed atomic.Uint64
	lastError                atomic.Pointer[string]

	warnedTo  atomic.Int64 // instant until which warnLimit holds
	warnLimit atomic.Uint32
}

// A question is one call of Ask. Whoever writes the outcome first, the
// goroutine that asks or the worker that waits no longer, decides it.
type question struct {
	gen     uint32
	until   time.Duration // the worker waits no longer
	outcome atomic.Pointer[outcome]
}

type outcome struct {
	answer LeaseAnswer
	err    error
}

// grant is a lease that the breaker is half-open under.
type grant struct {
	token uint64
	gen   uint32
	told  bool // of the first success
}

// maxLeaseCalls is how many calls of its Lease one breaker has out at once. One
// that does not come back when its context is done is not joined by ever more.
const maxLeaseCalls = 4

var (
	errLeaseLate  = errors.New("atomicbreaker: the Lease has not answered within Config.LeaseTimeout")
	errLeaseStuck = errors.New("atomicbreaker: earlier calls of the Lease have not come back")
	errLeaseEnded = errors.New("atomicbreaker: the Lease panicked or ended its goroutine")
	errOvertaken  = errors.New("atomicbreaker: overtaken") // never seen
)

// tickLease settles what an earlier generation has left: a question that is
// overtaken, a lease that is over. It runs before anything else is due.
func (b *Breaker) tickLease(l *leasing, w word) {
	if q := l.asked; q != nil && (w.phase() != phaseOpen || w.forced() || w.generation() != q.gen) {
		l.asked, l.again = nil, false
		if !q.outcome.CompareAndSwap(nil, &outcome{err: errOvertaken}) {
			b.giveLeaseBack(l, q.outcome.Load())
		}
	}
	g := l.held
	switch {
	case g == nil:
	case w.generation() != g.gen:
		if v := l.ended.Load(); int32(uint32(v>>32)-g.gen) >= 0 { // [E9 observe] or who ended it will kick
			l.held = nil
			b.tellLease(l, b.verdictOn(g, v))
		}
	case !g.told && l.answered.Load() == markOf(g.gen):
		g.told = true
		b.tellLease(l, LeaseNews{Token: g.token, Verdict: LeaseAnswered})
	}
}

// verdictOn is the news of a grant whose half-open generation is over.
func (b *Breaker) verdictOn(g *grant, ended uint64) LeaseNews {
	n := LeaseNews{Token: g.token}
	if uint32(ended>>32) != g.gen {
		return n // the breaker is several generations further: stale
	}
	switch Reason(uint32(ended)) {
	case ReasonRecovered:
		n.Verdict = LeaseRecovered
	case ReasonProbeFailed, ReasonProbeTimeout:
		n.Verdict, n.Cooldown = LeaseReopened, b.cfg.Cooldown.Min
		if cool, ok := b.cool.get(g.gen + 1); ok {
			n.Cooldown = time.Duration(cool)
		}
	}
	return n
}

// noteEnd keeps why a half-open generation ended. [E9 publish] It is written
// after the word, and before the kick that follows every change.
func (l *leasing) noteEnd(gen uint32, why Reason) {
	for {
		old := l.ended.Load()
		if old != 0 && int32(gen-uint32(old>>32)) < 0 || l.ended.CompareAndSwap(old, uint64(gen)<<32|uint64(why)) {
			return
		}
	}
}

// noteSuccess makes the worker tell of the first success of a generation.
func (b *Breaker) noteSuccess(l *leasing, gen uint32) {
	if m := markOf(gen); l.answered.Load() != m && l.answered.Swap(m) != m {
		b.kick()
	}
}

// tickAsk is tickOpen for a breaker with a Lease whose cooldown is over: it
// asks, waits for the answer and goes by it.
func (b *Breaker) tickAsk(l *leasing, w word, now time.Duration) time.Duration {
	if l.again && now < time.Duration(l.retry.Load()) {
		return time.Duration(l.retry.Load())
	}
	if l.asked == nil || l.again {
		l.asked, l.again = &question{gen: w.generation(), until: now + l.timeout}, false
		l.retry.Store(int64(l.asked.until))
		b.ask(l, l.asked)
	}
	q := l.asked
	if q.outcome.Load() == nil {
		if now < q.until {
			return q.until
		}
		q.outcome.CompareAndSwap(nil, &outcome{err: errLeaseLate})
	}
	switch o := q.outcome.Load(); {
	case o.err != nil:
		return b.probe(l, w, now, nil, o.err)
	case o.answer.Granted:
		return b.probe(l, w, now, &grant{token: o.answer.Token, gen: w.generation() + 1}, nil)
	default:
		l.refused.Add(1)
		l.again = true
		l.retry.Store(int64(now + b.leaseWait(o.answer.Wait)))
		return time.Duration(l.retry.Load())
	}
}

// probe makes the breaker half-open, under a grant or, after err, by its own leave.
func (b *Breaker) probe(l *leasing, w word, now time.Duration, g *grant, err error) time.Duration {
	why := ReasonCooldown
	if err != nil {
		why = ReasonLeaseFailed
		l.alone.Store(true) // before the word: whoever sees the change is told why
	} else {
		l.alone.Store(false)
		l.holding.Store(markOf(g.gen))
	}
	if !b.toHalfOpen(w, w.to(phaseHalfOpen, b.kind.firstWindow()), why, now) {
		return now // the answer is looked at again, or dropped
	}
	if unfinished := l.held; unfinished != nil { // who ended that generation has slept through a whole cooldown
		b.tellLease(l, LeaseNews{Token: unfinished.token})
	}
	l.asked, l.held = nil, g
	if err != nil {
		l.fail(err)
	} else {
		l.granted.Add(1)
	}
	return now
}

func (l *leasing) fail(err error) {
	l.failed.Add(1)
	text := err.Error()
	l.lastError.Store(&text)
}

// leaseWait is how long to wait after a refusal. Jitter only adds to it.
func (b *Breaker) leaseWait(wait time.Duration) time.Duration {
	c := &b.cfg.Cooldown
	if wait <= 0 {
		wait = c.Min
	}
	wait = min(max(wait, minDuration), c.Max)
	if c.Jitter != Off {
		wait += time.Duration(float64(wait) * float64(c.Jitter*b.cfg.Rand()))
	}
	return wait
}

// ask has the Lease asked. It does not wait for the answer.
func (b *Breaker) ask(l *leasing, q *question) {
	err := l.call(func(ctx context.Context) {
		if q.outcome.Load() != nil {
			return // too late before it was asked
		}
		o := &outcome{err: errLeaseEnded}
		defer func() {
			_ = recover()
			if q.outcome.CompareAndSwap(nil, o) {
				b.kick()
			} else {
				b.giveLeaseBack(l, o)
			}
		}()
		answer, err := l.lease.Ask(ctx, b)
		o.answer, o.err = answer, err
	})
	if err != nil {
		q.outcome.CompareAndSwap(nil, &outcome{err: err})
	}
}

// giveLeaseBack gives a grant back that came too late.
func (b *Breaker) giveLeaseBack(l *leasing, o *outcome) {
	if o.err == nil && o.answer.Granted {
		b.tellLease(l, LeaseNews{Token: o.answer.Token})
	}
}

// tellLease has the Lease told.
func (b *Breaker) tellLease(l *leasing, n LeaseNews) {
	n.Breaker = b
	err := l.call(func(ctx context.Context) {
		err := errLeaseEnded
		defer func() {
			_ = recover()
			if err != nil {
				l.fail(err)
			}
		}()
		err = l.lease.Tell(ctx, n)
	})
	if err != nil {
		l.fail(err)
	}
}

// call has the Lease run f, once, with a context that ends in time. If it is
// certain that f does not run, it returns why.
func (l *leasing) call(f func(context.Context)) (err error) {
	if l.out.Add(1) > maxLeaseCalls {
		l.out.Add(-1)
		return errLeaseStuck
	}
	var begun atomic.Bool
	defer func() {
		if recover() != nil && !begun.Swap(true) {
			l.out.Add(-1)
			err = errLeaseEnded
		}
	}()
	l.lease.Go(func() {
		if begun.Swap(true) {
			return
		}
		defer l.out.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
		defer cancel()
		f(ctx)
	})
	return nil
}

// leaseInfo is what Snapshot tells of the Lease.
func (b *Breaker) leaseInfo(l *leasing, w word, now time.Duration) LeaseInfo {
	info := LeaseInfo{
		Alone:   l.alone.Load(),
		Held:    w.phase() == phaseHalfOpen && l.holding.Load() == markOf(w.generation()),
		Granted: l.granted.Load(), Refused: l.refused.Load(), Failed: l.failed.Load(),
	}
	if text := l.lastError.Load(); text != nil {
		info.Error = *text
	}
	if w.phase() == phaseOpen && !w.forced() {
		end, _ := b.cooldownEnd(w)
		info.Waiting = now >= end
	}
	return info
}
