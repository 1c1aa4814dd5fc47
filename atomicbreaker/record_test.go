package atomicbreaker

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// beginning of a generation, as Snapshot shows it and as it is announced.
type shownBeginning struct {
	state  State
	reason Reason
	since  time.Duration
}

// TestSnapshotsAreOfOneGeneration: in a storm of commands every Snapshot tells
// of its generation what was announced of it.
func TestSnapshotsAreOfOneGeneration(t *testing.T) {
	var announced sync.Map
	c := tripAfter(1)
	c.Clock = nil
	c.Cooldown = Cooldown{Min: time.Millisecond, Max: time.Millisecond, Factor: 1, Jitter: Off}
	c.OnTransition = func(tr Transition) { announced.Store(tr.Generation, shownBeginning{tr.To, tr.Reason, tr.At}) }
	b := madeOn(t, c)
	readers, each := 2, int(seeds(20_000))
	seen := make([]map[uint32]shownBeginning, readers)
	var reading atomic.Int64
	reading.Store(int64(readers))
	rivals := 0 // several may sleep in the middle of the same change
	together(readers+2, func(i int) {
		if i >= readers {
			for n := 0; reading.Load() > 0; n++ {
				b.Trip()
				if n%7 == i {
					b.EndCooldown()
				}
				b.Reset()
				runtime.Gosched()
			}
			return
		}
		defer reading.Add(-1)
		seen[i] = make(map[uint32]shownBeginning)
		var opened uint64
		var open time.Duration
		for range each {
			runtime.Gosched()
			s := b.Snapshot()
			seen[i][s.Generation] = shownBeginning{s.State, s.Reason, s.Since}
			if s.Opened < opened || s.TimeOpen < open || s.At < s.Since {
				t.Errorf("%d openings after %d, open for %v after %v, at %v since %v", s.Opened, opened, s.TimeOpen, open, s.At, s.Since)
				return
			}
			opened, open = s.Opened, s.TimeOpen
		}
	})
	waitUntil(t, func() bool { return b.telling.free() && b.notes.Load() == nil })
	checked := 0
	for _, seen := range seen {
		for gen, s := range seen {
			if want, ok := announced.Load(gen); ok {
				checked++
				if want != s {
					rivals++
					require.Equal(t, want.(shownBeginning).state, s.state, "generation %d", gen)
				}
			}
		}
	}
	require.Greater(t, checked, 100)
	require.LessOrEqual(t, rivals, checked/1000, "Snapshots tell of another change than the one that was announced")
}

// TestAChangeHasItsRecordFromTheFirstMoment sleeps between the change of the
// word and all that follows.
func TestAChangeHasItsRecordFromTheFirstMoment(t *testing.T) {
	b, manual := opened(t, Config{})
	manual.Advance(100 * time.Millisecond)
	w := b.load()
	next := w.to(phaseClosed, 0)
	before, ok := b.records.of(w)
	require.True(t, ok)
	x := before.follow(w, next, ReasonResetCalled, manual.Now())
	loser, loserHead := b.records.write(w, w.to(phaseHalfOpen, 1), ReasonCooldown, before)
	mine, head := b.records.write(w, next, x.reason, x)
	require.Equal(t, ReasonStreak, b.Snapshot().Reason)
	require.True(t, b.swap(w, next))
	for _, then := range []func(){
		func() {}, // both sleep
		func() { loser.settle(loserHead, false) },
		func() { mine.settle(head, true) },
		func() { manual.Advance(time.Second) },
	} {
		then()
		s := b.Snapshot()
		require.Equal(t, []any{StateClosed, ReasonResetCalled, 100 * time.Millisecond, uint64(1), 100 * time.Millisecond},
			[]any{s.State, s.Reason, s.Since, s.Opened, s.TimeOpen})
	}
}

// TestTheLatestOfRivalsCounts: if several sleep in the middle of one and the
// same change, a reader does not wait for them.
func TestTheLatestOfRivalsCounts(t *testing.T) {
	b, manual := made(t, Config{})
	w := b.load()
	next := w.to(phaseOpen, 0)
	first, firstHead := b.records.write(w, next, ReasonStreak, began{reason: ReasonStreak, since: 1, opened: 1})
	_, _ = b.records.write(w, next, ReasonTripCalled, began{reason: ReasonTripCalled, since: 2, opened: 1})
	require.True(t, b.swap(w, next))
	manual.Advance(time.Second)
	require.Equal(t, ReasonTripCalled, b.Snapshot().Reason)
	first.settle(firstHead, true)
	require.Equal(t, ReasonStreak, b.Snapshot().Reason)
	require.Equal(t, time.Duration(1), b.Snapshot().Since)
}

// TestRecordsAreUsedAgain: a few last for ever, and those whose owners never
// come back are taken when their generation is over.
func TestRecordsAreUsedAgain(t *testing.T) {
	count := func(b *Breaker) (n int) {
		b.records.each(func(*record) bool { n++; return true })
		return n
	}
	b, _ := made(t, Config{})
	require.Equal(t, 2, count(b))
	for range 1000 {
		b.Trip()
		b.Reset()
	}
	require.Equal(t, 2, count(b))
	for range 100 {
		w := b.load() // one who tries, and sleeps for ever
		b.records.write(w, w.to(phaseOpen, 0), ReasonStreak, began{})
		b.Trip()
		b.Reset()
	}
	require.Equal(t, 3, count(b))
	together(8, func(int) {
		for range 1000 {
			b.Trip()
			b.Reset()
		}
	})
	require.LessOrEqual(t, count(b), 2+8)
	require.Equal(t, StateClosed, b.State())
}
