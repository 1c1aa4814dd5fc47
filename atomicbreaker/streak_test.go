package atomicbreaker

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/ring"
	"github.com/stretchr/testify/require"
)

// stripesOf grows the ring of b to n stripes and returns one of each, found as
// goroutines find theirs: by where they stand on their stack.
func stripesOf(t testing.TB, b *Breaker, n int) []ring.Stripe {
	t.Helper()
	for tries := 0; b.ring.InUse() < n; tries++ {
		require.Less(t, tries, 10_000, "so many stripes are not allowed")
		b.ring.Grow()
	}
	var found []ring.Stripe
	for depth := 0; len(found) < n; depth++ {
		require.Less(t, depth, 10_000, "found %d of %d stripes", len(found), n)
		var s ring.Stripe
		atDepth(depth, func() { s = b.ring.Pick() })
		known := false
		for _, f := range found {
			known = known || &f[0] == &s[0]
		}
		if !known {
			found = append(found, s)
		}
	}
	return found
}

// atDepth calls f with about so many KiB more on the stack.
func atDepth(kib int, f func()) byte {
	var room [1024]byte
	if kib == 0 {
		f()
		return room[0]
	}
	return atDepth(kib-1, f) + room[kib%len(room)]
}

func TestStreakIsNeverEarlyAndLateByItsBoundOnly(t *testing.T) {
	for _, stripes := range []int{1, 2, 4, 8, 32} {
		for _, limit := range []int{1, 2, 3, 4, 20} {
			latest := 0
			for seed := range seeds(20) {
				b, _ := made(t, Config{ConsecutiveFailures: limit, FailureRate: Off, Stripes: 32})
				places := stripesOf(t, b, stripes)
				random := rand.New(rand.NewPCG(seed, 3))
				healthy := random.Float64() * 0.3
				run := 0
				for range 1000 {
					s := places[random.IntN(stripes)]
					if random.Float64() < healthy {
						b.endStreak(s, 0)
						run = 0
						continue
					}
					run++
					if b.streakMet(b.noteBad(s, 0, ring.Failure)) {
						require.GreaterOrEqual(t, run, limit, "early")
						latest = max(latest, run-limit)
						b.endStreak(s, 0)
						run = 0
					}
				}
			}
			bound := 2 * (stripes - 1) // as Config.ConsecutiveFailures says
			if limit <= 3 {
				bound = 0
			}
			require.LessOrEqual(t, latest, bound, "limit %d on %d stripes", limit, stripes)
			t.Logf("limit %d on %d stripes: late by up to %d", limit, stripes, latest)
		}
	}
}

// TestStreakOfManyGoroutinesTripsWithinItsBound: every goroutine has at most one call under way
// when the limit is met.
func TestStreakOfManyGoroutinesTripsWithinItsBound(t *testing.T) {
	const goroutines = 8
	for _, limit := range []int{1, 3, 20} {
		for range 50 {
			b, _ := made(t, tripAfter(limit))
			var admissions atomic.Int64
			together(goroutines, func(int) {
				for {
					ticket, err := b.Acquire()
					if err != nil {
						return
					}
					admissions.Add(1)
					ticket.Report(Failure)
				}
			})
			require.Equal(t, StateOpen, b.State())
			most := limit + goroutines
			if limit > exactStreak {
				most += 2 * (b.ring.Stripes() - 1)
			}
			require.LessOrEqual(t, int(admissions.Load()), most)
			require.GreaterOrEqual(t, int(admissions.Load()), limit)
		}
	}
}

func TestStreakStopsAtItsMaximum(t *testing.T) {
	for _, generation := range boundaryGenerations {
		var k streak
		k.v.Store(uint64(generation)<<32 | streakLength - 1)
		require.Equal(t, uint32(streakLength), k.add(generation))
		require.Equal(t, uint32(streakLength), k.add(generation), "the length ran into the generation")
		require.Equal(t, uint64(generation)<<32|streakLength, k.v.Load())
		require.Zero(t, k.add(generation-1), "a failure of an older generation counted")
		k.end(generation - 1)
		require.Equal(t, uint64(generation)<<32|streakLength, k.v.Load(), "a success of an older generation ended it")
		require.Equal(t, uint32(1), k.add(generation+1))
		k.end(generation + 1)
		require.Equal(t, uint32(1), k.add(generation+1))
	}
}

func TestStreakCountsEveryFailureOnce(t *testing.T) {
	const goroutines, each = 4, 1000
	var k streak
	var seen [goroutines*each + 1]atomic.Bool
	together(goroutines, func(int) {
		for range each {
			if seen[k.add(5)].Swap(true) {
				t.Error("one length seen twice")
			}
		}
	})
	require.Equal(t, uint64(5)<<32|goroutines*each, k.v.Load())
}

// TestInstantOfFailuresIsNoStreakAtTheDefault: calls that run into their deadline
// at one instant, in the middle of successes, open nothing. A dependency that is
// dead opens within what a twentieth of a second brings, and a limit that is set
// is exact.
//
// Field: S201, unkeyed/unkey#6568 (2026-06-26).
func TestInstantOfFailuresIsNoStreakAtTheDefault(t *testing.T) {
	for _, c := range []Config{{}, {WindowCalls: 1000}, {FailureRate: Off}} {
		b, manual := made(t, c)
		calls(t, b, 840, Success)
		calls(t, b, 25, Failure)
		require.Equal(t, StateClosed, b.State(), "a stall of the network")
		calls(t, b, 1, Success)
		manual.Advance(time.Second)
		calls(t, b, 25, Failure)
		require.Equal(t, StateClosed, b.State(), "another one, a second later")
		calls(t, b, 1, Success)

		calls(t, b, 20, Failure) // it is dead
		manual.Advance(patience - 1)
		calls(t, b, 1, Failure)
		require.Equal(t, StateClosed, b.State())
		manual.Advance(1)
		calls(t, b, 1, Failure)
		require.Equal(t, []any{StateOpen, ReasonStreak}, []any{b.State(), b.Snapshot().Reason})
	}

	b, manual := made(t, Config{FailureRate: Off})
	for range 19 { // one at a time, as callers come
		calls(t, b, 1, Failure)
		manual.Advance(10 * time.Millisecond)
	}
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State(), "the twentieth")

	b, _ = made(t, Config{ConsecutiveFailures: 20})
	calls(t, b, 840, Success)
	calls(t, b, 19, Failure)
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State(), "a limit that is set is exact")
}
