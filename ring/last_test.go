package ring

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

func (u *lastUser) add(failed, slow bool) Head {
	for {
		h := u.Head()
		if !u.Live(h, u.gen) {
			u.Begin(h, u.gen)
			continue
		}
		if h, ok := u.Add(h, failed, slow); ok {
			u.outcomes = append(u.outcomes, [2]bool{failed, slow})
			return h
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

// wrapSoon makes l as it is so many outcomes before its positions and laps wrap.
func wrapSoon(l *Last, before uint64) {
	position := positionMask - before
	l.head.Store(position)
	for back := range uint64(len(l.words)) {
		lap := position>>wordBitsShift - 1 - back
		l.words[lap%uint64(len(l.words))].Store(lap << lapShift)
	}
}

func TestLastIsThePlainList(t *testing.T) {
	for n := 1; n <= 1024; n++ {
		if n > 70 && n%97 != 0 && n < 1020 {
			continue
		}
		l := NewLast(n)
		u := &lastUser{Last: l, n: n}
		wrapSoon(l, uint64(n+n%5))
		random := rand.New(rand.NewPCG(uint64(n), 8))
		bad, slow := 0.5, 0.5
		for i := range 3*n + 100 {
			if i%50 == 0 {
				bad, slow = random.Float64(), random.Float64()
			}
			h := u.add(random.Float64() < bad, random.Float64() < slow)
			if got, want := l.Sum(h), u.want(); got != want || l.Sum(l.Head()) != want {
				t.Fatalf("the last %d of %d: %v, not %v", n, i+1, got, want)
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

func TestLastKeepsExactlyWhatManyAdd(t *testing.T) {
	const recorders, each = 4, 1000
	for _, n := range []int{1, 15, 16, 17, 64, 1000, 1024} {
		l := NewLast(n)
		require.True(t, l.Begin(l.Head(), 3))
		failures := make([]atomic.Bool, recorders*each+1) // by position, as each recorder knows it
		var all sync.WaitGroup
		for i := range recorders {
			all.Go(func() {
				for k := range each {
					failed := (k*7+i)%3 == 0
					for {
						h := l.Head()
						after, ok := l.Add(h, failed, !failed)
						if !ok {
							continue
						}
						failures[uint64(after)&positionMask].Store(failed)
						break
					}
				}
			})
		}
		all.Wait()
		want := Counts{}
		for position := recorders*each + 1 - n; position <= recorders*each; position++ {
			if failures[position].Load() {
				want[Failure]++
			} else {
				want[Success]++
				want[Slow]++
			}
		}
		require.Equal(t, want, l.Sum(l.Head()), "the last %d", n)
	}
}

// TestClaimedPositionThatIsNotWrittenYetIsNoFailure: between the claim and the
// write of an outcome it reads as a success; an older lap's bits do not show.
func TestClaimedPositionThatIsNotWrittenYetIsNoFailure(t *testing.T) {
	l := NewLast(4)
	require.True(t, l.Begin(l.Head(), 1))
	for range 200 {
		_, ok := l.Add(l.Head(), true, true)
		require.True(t, ok)
	}
	h := l.Head()
	require.Equal(t, Counts{Failure: 4, Slow: 4}, l.Sum(h))
	for range 20 { // claims alone
		position := uint64(h) & positionMask
		h = Head(uint64(h)&^uint64(positionMask) | (position+1)&positionMask)
	}
	require.Equal(t, Counts{Success: 4}, l.Sum(h))
}

func TestLateWriteIntoALastDoesNotTouchALaterLap(t *testing.T) {
	l := NewLast(4)
	require.True(t, l.Begin(l.Head(), 1))
	old := l.Head()
	perLap := uint64(len(l.words)) * perWord
	for range perLap { // everybody else has gone once round
		_, ok := l.Add(l.Head(), false, false)
		require.True(t, ok)
	}
	// The recorder of the first position claimed it then, and writes only now.
	l.head.Store(uint64(old))
	after, ok := l.Add(old, true, true)
	require.True(t, ok)
	require.Equal(t, uint64(1), uint64(after)&positionMask)
	l.head.Store(1<<headGenShift | 4<<countShift | perLap + 1)
	require.Zero(t, l.Sum(l.Head())[Failure])
}

func TestHeadOfAnotherGenerationIsNotLive(t *testing.T) {
	l := NewLast(10)
	for _, gen := range []uint32{0, 1, 1<<24 - 1, 1 << 24, 0xffffffff} {
		require.True(t, l.Begin(l.Head(), gen))
		require.True(t, l.Live(l.Head(), gen))
		require.False(t, l.Live(l.Head(), gen+1))
		require.False(t, l.Live(l.Head(), gen-1))
		old := l.Head()
		_, ok := l.Add(old, true, false)
		require.True(t, ok)
		_, ok = l.Add(old, true, false)
		require.False(t, ok, "the head has moved on")
		require.False(t, l.Begin(old, gen), "the head has moved on")
		require.Equal(t, uint64(1), l.Sum(l.Head())[Failure])
	}
}
