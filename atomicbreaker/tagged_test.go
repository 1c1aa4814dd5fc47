package atomicbreaker

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTaggedValueIsReadOnlyByItsGeneration(t *testing.T) {
	for _, generation := range boundaryGenerations {
		for _, value := range []uint64{0, 1, taggedMax - 1, taggedMax, taggedMax + 1, 1<<64 - 1} {
			var v tagged
			v.v.Store(tag(generation, value))
			got, ok := v.get(generation)
			require.True(t, ok)
			require.Equal(t, min(value, taggedMax), got, "a value too large ran into the tag")
			for _, other := range []uint32{generation - 1, generation + 1, generation + 1<<15} {
				_, ok := v.get(other)
				require.False(t, ok)
			}
		}
	}
}

func TestTaggedValueOfALaterGenerationIsNotOverwritten(t *testing.T) {
	add := func(old uint64, ok bool) uint64 {
		if !ok {
			return 1
		}
		return old + 1
	}
	for _, generation := range boundaryGenerations {
		var v tagged
		v.v.Store(tag(generation, 41))
		v.update(generation, add)
		require.Equal(t, tag(generation, 42), v.v.Load())
		for _, behind := range []uint32{1, 2, 1<<15 - 1, 1 << 15} {
			v.update(generation-behind, add)
			require.Equal(t, tag(generation, 42), v.v.Load(), "one who slept for %d generations wrote", behind)
		}
		v.update(generation+1, add)
		require.Equal(t, tag(generation+1, 1), v.v.Load())
	}
}

func TestTaggedCountsEveryUpdate(t *testing.T) {
	const goroutines, each = 4, 500
	var v tagged
	v.v.Store(tag(7, 0))
	together(goroutines, func(int) {
		for range each {
			v.update(7, func(old uint64, _ bool) uint64 { return old + 1 })
			v.update(6, func(uint64, bool) uint64 { return 0 })
		}
	})
	got, ok := v.get(7)
	require.True(t, ok)
	require.Equal(t, uint64(goroutines*each), got)
}

func TestInstantsOnlyGrow(t *testing.T) {
	var v atomic.Int64
	for _, to := range []int64{5, 3, 5, 9, 8, 1<<63 - 1, 0} {
		before := v.Load()
		raise(&v, to)
		require.Equal(t, max(before, to), v.Load())
	}
	var shared atomic.Int64
	together(4, func(i int) {
		for n := range int64(1000) {
			raise(&shared, n*4+int64(i))
		}
	})
	require.Equal(t, int64(999*4+3), shared.Load())
}

func TestMarkBelongsToOneGeneration(t *testing.T) {
	var flag atomic.Uint64
	for _, generation := range boundaryGenerations {
		require.NotEqual(t, markOf(generation), flag.Load())
		mark(&flag, generation)
		mark(&flag, generation)
		require.Equal(t, markOf(generation), flag.Load())
		require.NotEqual(t, markOf(generation+1), flag.Load())
	}
	require.NotZero(t, markOf(0), "no mark looks like that of generation 0")
}

// TestCountsOfAnEpisodeStopAtTheirLimit runs the episode of a breaker whose counters stand
// at their limit: the tag must stay intact.
func TestCountsOfAnEpisodeStopAtTheirLimit(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	gen := b.load().generation()
	b.calls.v.Store(tag(gen, taggedMax))
	ticket := admitted(t, b)
	manual.Advance(time.Millisecond)
	require.True(t, ticket.Report(Success))
	require.Equal(t, uint64(taggedMax), b.episode(gen).Calls)
}
