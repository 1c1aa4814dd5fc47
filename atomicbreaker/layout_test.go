package atomicbreaker

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// line is how far apart two things must be not to disturb each other.
const line = 128

// TestWhatManyWriteIsALineAwayFromWhatAllRead: the streak is written by every
// failing call; what every call reads must not be near.
func TestWhatManyWriteIsALineAwayFromWhatAllRead(t *testing.T) {
	var b Breaker
	streakFrom := unsafe.Offsetof(b.streak)
	streakTo := streakFrom + unsafe.Sizeof(b.streak)
	readByCalls := map[string][2]uintptr{
		"word":     {unsafe.Offsetof(b.word), unsafe.Sizeof(b.word)},
		"timed":    {unsafe.Offsetof(b.timed), unsafe.Sizeof(b.timed)},
		"ring":     {unsafe.Offsetof(b.ring), unsafe.Sizeof(b.ring)},
		"last":     {unsafe.Offsetof(b.last), unsafe.Sizeof(b.last)},
		"timer":    {unsafe.Offsetof(b.timer), unsafe.Sizeof(b.timer)},
		"settings": {unsafe.Offsetof(b.settings), unsafe.Sizeof(b.settings)},
	}
	for name, x := range readByCalls {
		from, to := x[0], x[0]+x[1]
		require.True(t, to+line <= streakFrom || streakTo+line <= from,
			"%s at %d to %d, the streak at %d to %d", name, from, to, streakFrom, streakTo)
	}
	// The next Breaker in memory begins with its word, 8 bytes of the
	// allocator's in between.
	require.Zero(t, unsafe.Offsetof(b.word))
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.GreaterOrEqual(t, unsafe.Sizeof(b)+8-streakTo, uintptr(line))
	}
}

func TestBreakerFitsItsSizeClass(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are of 64-bit machines")
	}
	require.LessOrEqual(t, unsafe.Sizeof(Breaker{}), uintptr(512))
	require.LessOrEqual(t, unsafe.Sizeof(settings{}), uintptr(288))
	require.LessOrEqual(t, unsafe.Sizeof(Ticket{}), uintptr(32), "a ticket is returned in registers and copied nowhere")
}

// idleBytes measures the heap that one of many idle breakers takes.
func idleBytes(t *testing.T, c Config) float64 {
	t.Helper()
	const n = 10_000
	all := make([]*Breaker, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		all[i] = MustNew(c)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(all)
	return float64(after.HeapAlloc-before.HeapAlloc) / n
}

// TestIdleBreakerFitsInSevenFifthsOfAKiB also holds the formula of
// ARCHITECTURE.md against measurement.
func TestIdleBreakerFitsInSevenFifthsOfAKiB(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 || underRace {
		t.Skip("sizes are of 64-bit machines without the race detector")
	}
	require.LessOrEqual(t, idleBytes(t, Config{Name: "payments"}), 1.4*1024)
	formula := func(buckets, kinds int) float64 {
		return 512 + 288 + 128*float64((15+(buckets+2)*kinds+15)/16) + 228
	}
	for _, x := range []struct {
		c              Config
		buckets, kinds int
	}{
		{Config{}, 10, 2},
		{Config{SlowCallDuration: time.Second}, 10, 3},
		{Config{Window: 128 * time.Second, Buckets: 128}, 128, 2},
		{Config{Buckets: 1}, 1, 2},
	} {
		want := formula(x.buckets, x.kinds)
		require.InDelta(t, want, idleBytes(t, x.c), want*0.05, "%+v", x.c)
	}
}
