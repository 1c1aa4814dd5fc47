package atomicbreaker

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// books is what callers know for themselves.
type books struct {
	admitted, settled, refused                atomic.Uint64
	refusedOpen, refusedHalfOpen, refusedForc atomic.Uint64
}

func (k *books) refuse(err error) {
	k.refused.Add(1)
	switch err.(*RejectedError).Unwrap() {
	case ErrOpen:
		k.refusedOpen.Add(1)
	case ErrProbeLimit:
		k.refusedHalfOpen.Add(1)
	case ErrForced:
		k.refusedForc.Add(1)
	}
}

// balance holds the counters against the books: every ticket is settled.
func (k *books) balance(t *testing.T, b *Breaker) {
	t.Helper()
	s := b.Snapshot()
	require.Equal(t, k.admitted.Load(), k.settled.Load(), "tickets left unsettled")
	require.Equal(t, k.settled.Load(), s.Succeeded+s.Failed+s.Ignored+s.Cancelled+s.Late, "%+v", s)
	require.Equal(t, k.refused.Load(), s.Refused())
	require.Equal(t, []uint64{k.refusedOpen.Load(), k.refusedHalfOpen.Load(), k.refusedForc.Load()},
		[]uint64{s.RefusedOpen, s.RefusedHalfOpen, s.RefusedForced})
	require.LessOrEqual(t, s.Slow, s.Succeeded+s.Failed)
}

// G6: many goroutines call, settle in every way, give tickets to each other,
// trip the breaker and let it recover, while others reset it, change its mode,
// move the clock and read. At the end every ticket and refusal is in the books.
func TestEveryTicketEndsInExactlyOneCounter(t *testing.T) {
	for name, c := range map[string]Config{
		"window":     {ConsecutiveFailures: 5, MinimumCalls: 20},
		"last calls": {WindowCalls: 64, ConsecutiveFailures: 7},
		"timed":      {SlowCallDuration: 5 * time.Millisecond, ConsecutiveFailures: 6},
		"classic":    {ConsecutiveFailures: 4, Recovery: Recovery{Probes: 4, Successes: 2, Concurrent: 2, ProbeTimeout: 100 * time.Millisecond}},
		"one stripe": {ConsecutiveFailures: 5, Stripes: 1},
		"tiny edges": {ConsecutiveFailures: Off, Window: 3 * time.Millisecond, Buckets: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c.Cooldown = Cooldown{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}
			b, manual := made(t, c)
			var k books
			const callers, each = 6, 5000
			shared := make(chan *Ticket, 64) // settled by somebody else, later
			var busy atomic.Int64
			busy.Store(callers)
			together(callers+1, func(i int) {
				random := rand.New(rand.NewPCG(uint64(i), 4))
				if i == callers {
					disturb(b, manual.Advance, random, &busy)
					return
				}
				defer busy.Add(-1)
				for range each {
					oneCall(b, &k, random, shared)
				}
			})
			close(shared)
			for ticket := range shared {
				if !ticket.Cancel() {
					t.Error("a shared ticket was settled already")
				}
				k.settled.Add(1)
			}
			k.balance(t, b)
		})
	}
}

func oneCall(b *Breaker, k *books, random *rand.Rand, shared chan *Ticket) {
	if random.IntN(4) == 0 {
		ran := false
		err := b.Do(context.Background(), func(context.Context) error {
			ran = true
			if random.IntN(3) == 0 {
				return errFailed
			}
			return nil
		})
		if ran {
			k.admitted.Add(1)
			k.settled.Add(1)
		} else {
			k.refuse(err)
		}
		return
	}
	ticket, err := b.Acquire()
	if err != nil {
		k.refuse(err)
		return
	}
	k.admitted.Add(1)
	mine := &ticket
	switch random.IntN(4) {
	case 0:
		select {
		case shared <- mine:
			return
		case mine = <-shared: // full: settle another's in its place
			shared <- &ticket
		}
	case 1:
		select {
		case other := <-shared:
			settleSomehow(other, random)
			k.settled.Add(1)
		default:
		}
	}
	settleSomehow(mine, random)
	k.settled.Add(1)
}

func settleSomehow(ticket *Ticket, random *rand.Rand) {
	switch random.IntN(8) {
	case 0:
		ticket.Cancel()
	case 1:
		ticket.Report(Ignored)
	case 2:
		ticket.ReportAfter(Failure, time.Millisecond)
	case 3, 4:
		ticket.Done(context.Background(), errFailed)
	default:
		ticket.Done(context.Background(), nil)
	}
	ticket.Cancel() // and once more
}

// disturb moves time and the operator's controls until the callers are done.
func disturb(b *Breaker, advance func(time.Duration), random *rand.Rand, busy *atomic.Int64) {
	for busy.Load() > 0 {
		switch random.IntN(30) {
		case 0:
			b.Reset()
		case 1:
			b.Trip()
		case 2, 3, 4:
			b.SetMode(Mode(random.IntN(4)))
		case 5:
			b.Snapshot()
		default:
			advance(time.Duration(random.IntN(5)) * time.Millisecond)
		}
		runtime.Gosched()
	}
	b.SetMode(Auto)
}

// G6: in Shadow everything is let through, and what Auto would have refused
// is told.
func TestShadowKeepsTheSameBooks(t *testing.T) {
	for _, c := range []Config{{}, {SlowCallDuration: time.Millisecond}} {
		c.Mode = Shadow
		b, manual := opened(t, c)
		want := b.Snapshot()
		for i, settle := range []func(*Ticket) bool{
			func(x *Ticket) bool { want.Succeeded++; return x.Done(context.Background(), nil) },
			func(x *Ticket) bool { want.Failed++; return x.Done(context.Background(), errFailed) },
			func(x *Ticket) bool { want.Ignored++; return x.Report(Ignored) },
			func(x *Ticket) bool { want.Cancelled++; return x.Cancel() },
		} {
			for range i + 1 {
				ticket := admitted(t, b)
				want.WouldRefuse++
				require.True(t, settle(ticket))
			}
		}
		got := b.Snapshot()
		require.Equal(t, []uint64{want.Succeeded, want.Failed, want.Ignored, want.Cancelled, 0, 0, want.WouldRefuse},
			[]uint64{got.Succeeded, got.Failed, got.Ignored, got.Cancelled, got.Late, got.Refused(), got.WouldRefuse})
		require.Equal(t, StateOpen, got.State, "outcomes of what was let through have no say")
		manual.Advance(time.Minute)
		require.Equal(t, StateHalfOpen, b.State())
	}
}

// G7: while buckets turn over under their hands, recorders lose and double
// nothing: at the end the window holds exactly the outcomes of its buckets.
func TestNoOutcomeIsLostAtTurnover(t *testing.T) {
	for name, c := range map[string]Config{
		"ten buckets":  {},
		"one bucket":   {Buckets: 1, Window: 20 * time.Millisecond},
		"128 buckets":  {Buckets: 128, Window: 128 * time.Millisecond},
		"last calls":   {WindowCalls: 1024},
		"many stripes": {Stripes: 64},
	} {
		t.Run(name, func(t *testing.T) {
			c.ConsecutiveFailures, c.FailureRate = Off, Off
			c.ReadyToTrip = func(Counts) bool { return false }
			for round := range 20 {
				b, manual := made(t, c)
				if c.Stripes > 0 {
					stripesOf(t, b, 8)
				}
				// Outcomes of before, which leave the window; then turnover under load.
				const goroutines, each = 4, 200
				var failures atomic.Uint64
				record := func() {
					together(goroutines+1, func(i int) {
						if i == goroutines { // turn over within one window's length
							for range c.WithDefaults().Buckets - 1 {
								manual.Advance(b.cfg().bucket)
								runtime.Gosched()
							}
							return
						}
						for n := range each {
							ticket, err := b.Acquire()
							if err != nil {
								t.Error(err)
								return
							}
							if (n+i+round)%3 == 0 {
								ticket.Report(Failure)
								failures.Add(1)
							} else {
								ticket.Report(Success)
							}
						}
					})
				}
				record()
				if c.WindowCalls > 0 {
					s := b.Snapshot()
					require.Equal(t, min(uint64(goroutines*each), 1024), s.Rolling.Calls)
					require.Equal(t, failures.Load(), s.Rolling.Failures)
					continue
				}
				s := b.Snapshot()
				require.Equal(t, Counts{Calls: goroutines * each, Failures: failures.Load()}, s.Rolling)
				manual.Advance(c.WithDefaults().Window + b.cfg().bucket)
				require.Zero(t, b.Snapshot().Rolling)
				s = b.Snapshot()
				require.Equal(t, []uint64{goroutines*each - failures.Load(), failures.Load()}, []uint64{s.Succeeded, s.Failed})
			}
		})
	}
}

// TestTotalsNeverFall reads while buckets are folded.
func TestTotalsNeverFall(t *testing.T) {
	b, manual := made(t, Config{ConsecutiveFailures: 50, Window: 2 * time.Millisecond, Buckets: 2, SlowCallDuration: time.Millisecond})
	var busy atomic.Int64
	busy.Store(2)
	together(4, func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 5))
		switch i {
		case 0, 1:
			defer busy.Add(-1)
			for range 5000 {
				if ticket, err := b.Acquire(); err == nil {
					settleSomehow(&ticket, random)
				}
			}
		case 2:
			for busy.Load() > 0 {
				manual.Advance(time.Millisecond)
				if random.IntN(50) == 0 {
					b.Reset()
				}
				runtime.Gosched()
			}
		default:
			var last Snapshot
			for busy.Load() > 0 {
				s := b.Snapshot()
				for _, pair := range [][2]uint64{
					{last.Succeeded, s.Succeeded}, {last.Failed, s.Failed}, {last.Slow, s.Slow}, {last.Ignored, s.Ignored},
					{last.Cancelled, s.Cancelled}, {last.Late, s.Late}, {last.RefusedOpen, s.RefusedOpen},
					{last.Opened, s.Opened}, {uint64(last.TimeOpen), uint64(s.TimeOpen)}, {last.Abandoned, s.Abandoned},
				} {
					if pair[0] > pair[1] {
						t.Errorf("a total fell from %d to %d\n%+v\n%+v", pair[0], pair[1], last, s)
						return
					}
				}
				last = s
				runtime.Gosched()
			}
		}
	})
}
