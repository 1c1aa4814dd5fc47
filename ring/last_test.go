package ring

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// lastUser uses a Last as a breaker does, beside a plain list.
type lastUser struct {
	*Last
	gen      uint32
	n        int
	outcomes [][2]bool // failed, slow
}

func (u *lastUser) add(failed, slow bool) (window Counts) {
	for {
		h := u.Head()
		if !u.Live(h, u.gen) {
			u.Begin(h, u.gen)
			continue
		}
		if _, window, ok := u.Add(h, failed, slow); ok {
			u.outcomes = append(u.outcomes, [2]bool{failed, slow})
			return window
		}
	}
}

func (u *lastUser) want() (c Counts) {
	from := max(len(u.outcomes)-u.n, 0)
	for _, o := range u.outcomes[from:] {
		if o[0] {
			c[Failure]++
		} else {
			c[Success]++
		}
		if o[1] {
			c[Slow]++
		}
	}
	return c
}

// wrapSoon makes l as it is so many words before their numbers wrap.
func wrapSoon(l *Last, before uint64) {
	number := numberMask - before
	l.head.Store(number)
	for back := range uint64(len(l.words)) {
		earlier := number - 1 - back
		l.slot(earlier).Store(earlier<<numberShift | perWord<<fillShift)
	}
}

func TestLastIsThePlainList(t *testing.T) {
	for n := 1; n <= 1024; n++ {
		if n > 70 && n%97 != 0 && n < 1020 {
			continue
		}
		l := NewLast(n)
		u := &lastUser{Last: l, n: n}
		wrapSoon(l, uint64(n/perWord+n%5))
		random := rand.New(rand.NewPCG(uint64(n), 8))
		bad, slow := 0.5, 0.5
		for i := range 3*n + 100 {
			if i%50 == 0 {
				bad, slow = random.Float64(), random.Float64()
			}
			failed, late := random.Float64() < bad, random.Float64() < slow
			stamp, got := l.Stamp(), u.add(failed, late)
			want := u.want()
			if !failed && !late {
				got = want
			}
			if got != want || l.Sum(l.Head()) != want || l.Stamp() == stamp {
				t.Fatalf("the last %d of %d: %v and %v, not %v", n, i+1, got, l.Sum(l.Head()), want)
			}
			switch random.IntN(200) {
			case 0:
				u.gen++
				u.outcomes = nil
			case 1:
				l.Forget()
				u.outcomes = nil
				require.Zero(t, l.Sum(l.Head()))
			}
		}
	}
}

// TestLastKeepsExactlyWhatManyAdd: the places of outcomes are their order, and
// the window that a recorder is given is that of its place, whoever else records.
func TestLastKeepsExactlyWhatManyAdd(t *testing.T) {
	const recorders, each = 4, 1000
	type added struct {
		outcome, window Counts
	}
	for _, n := range []int{1, 15, 16, 17, 64, 1000, 1024} {
		l := NewLast(n)
		require.True(t, l.Begin(l.Head(), 3))
		first := l.Head().number() * perWord
		var order [recorders * each]added // by place
		var all sync.WaitGroup
		for i := range recorders {
			all.Go(func() {
				for k := range each {
					for {
						failed := (k*7+i)%3 == 0
						place, window, ok := l.Add(l.Head(), failed, !failed)
						if !ok {
							continue
						}
						a := added{Counts{Failure: 1}, window}
						if !failed {
							a.outcome = Counts{Success: 1, Slow: 1}
						}
						order[place-first] = a
						break
					}
				}
			})
		}
		all.Wait()
		var window Counts
		for place, a := range order {
			for k := range window {
				window[k] += a.outcome[k]
				if place >= n {
					window[k] -= order[place-n].outcome[k]
				}
			}
			require.Equal(t, window, a.window, "the last %d at place %d", n, place)
		}
		require.Equal(t, window, l.Sum(l.Head()), "the last %d", n)
	}
}

// TestLastIsNotChangedAfterItsWindow: who comes late with an old head appends to
// no later word, and empties no later window.
func TestLastIsNotChangedAfterItsWindow(t *testing.T) {
	for _, laps := range []int{0, 1, 3} {
		l := NewLast(4)
		require.True(t, l.Begin(l.Head(), 1))
		old := l.Head()
		for range 1 + laps*len(l.words)*perWord {
			for added := false; !added; {
				_, _, added = l.Add(l.Head(), true, false)
			}
			if laps == 0 {
				l.Forget()
			}
		}
		before := l.Sum(l.Head())
		_, _, ok := l.Add(old, true, true)
		require.False(t, ok)
		require.False(t, l.Begin(old, 2))
		require.Equal(t, laps > 0, l.Same(old))
		require.Equal(t, before, l.Sum(l.Head()))
		require.Equal(t, before, l.Sum(old), "of the present window, or nothing")
	}
}

// TestSealedWordIsPassedForWhoSealedIt: a recorder does not wait for one that
// sleeps between the two steps of Forget, and the forgotten do not show.
func TestSealedWordIsPassedForWhoSealedIt(t *testing.T) {
	l := NewLast(40)
	for range 20 {
		for added := false; !added; {
			_, _, added = l.Add(l.Head(), true, false)
		}
	}
	h := l.Head()
	require.True(t, l.seal(h))
	require.Zero(t, l.Sum(l.Head()), "forgotten from here on")
	_, _, ok := l.Add(h, true, false)
	require.False(t, ok)
	require.NotEqual(t, h, l.Head(), "the next recorder moves the head")
	require.False(t, l.Same(h))
	_, window, ok := l.Add(l.Head(), true, false)
	require.True(t, ok)
	require.Equal(t, Counts{Failure: 1}, window)
	require.False(t, l.head.CompareAndSwap(uint64(h), uint64(h.begun(0))), "the second step comes too late")
	require.Equal(t, Counts{Failure: 1}, l.Sum(l.Head()))
}

func TestHeadOfAnotherGenerationIsNotLive(t *testing.T) {
	l := NewLast(10)
	for _, gen := range []uint32{0, 1, 1<<24 - 1, 1 << 24, 0xffffffff} {
		require.True(t, l.Begin(l.Head(), gen))
		require.True(t, l.Live(l.Head(), gen))
		require.False(t, l.Live(l.Head(), gen+1))
		require.False(t, l.Live(l.Head(), gen-1))
		old := l.Head()
		_, _, ok := l.Add(old, true, false)
		require.True(t, ok)
		require.Equal(t, uint64(1), l.Sum(l.Head())[Failure])
		require.True(t, l.Begin(old, gen+1))
		_, _, ok = l.Add(old, true, false)
		require.False(t, ok, "the head has moved on")
		require.False(t, l.Begin(old, gen), "the head has moved on")
		require.Zero(t, l.Sum(l.Head()))
	}
}
