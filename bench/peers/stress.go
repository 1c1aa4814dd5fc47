package peers

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// The stress: a breaker with a limit of one probe, a short cooldown, and callers
// that never let go while every probe fails. A breaker that decides on more than
// one word, or that publishes its state before its deadline, lets probes overlap
// or come early here.
const (
	StressCooldown   = 4 * time.Millisecond
	StressGoroutines = 8
	StressProcs      = 4
)

// StressResult is what the probes of one run were like.
type StressResult struct {
	Probes      int64
	Early       int64         // started less than half a cooldown after the one before
	Overlapping int64         // started while another was under way
	Worst       int64         // the most under way at once
	Shortest    time.Duration // the shortest time from one start to the next
}

// Stress runs the subject for a time with probes of the given length, zero for
// probes that fail at once. It sets GOMAXPROCS meanwhile. The error wraps
// ErrLacks if the subject limits no probes.
func Stress(s rival.Subject, runFor, probe time.Duration) (StressResult, error) {
	if s.Unlimited != "" {
		return StressResult{}, fmt.Errorf("%w: %s", rival.ErrLacks, s.Unlimited)
	}
	job := rival.JobOf(rival.RefusedOpen)
	job.Cooldown = StressCooldown
	in := s.Build(job)
	defer in.Release()
	return stress(in, runFor, probe)
}

func stress(in rival.Instance, runFor, probe time.Duration) (StressResult, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(StressProcs))
	// The gap before the first probe counts from before the trip, so that it
	// cannot look shorter than it was.
	m := newProbeMeter()
	if err := in.Trip(false); err != nil {
		return StressResult{}, err
	}
	var stop atomic.Bool
	time.AfterFunc(runFor, func() { stop.Store(true) })
	var all sync.WaitGroup
	for range StressGoroutines {
		all.Go(func() {
			body := func() { m.run(probe) }
			for !stop.Load() {
				in.Probe(body)
			}
		})
	}
	all.Wait()
	if m.probes.Load() == 0 {
		return StressResult{}, errors.New("admitted no probe at all")
	}
	return m.result(), nil
}

// probeMeter watches probes from inside. A probe that is preempted between its
// admission and its start, or between its end and its report, is only ever
// measured later to start and earlier to end than it was admitted and settled,
// and the next cooldown begins at its report: so a correct breaker cannot look
// early or overlapping.
type probeMeter struct {
	epoch    time.Time
	last     atomic.Int64 // the start of the latest probe, since epoch
	shortest atomic.Int64

	probes, early, overlapping, underWay, worst atomic.Int64
}

func newProbeMeter() *probeMeter {
	m := &probeMeter{epoch: time.Now()}
	m.shortest.Store(int64(1<<63 - 1))
	return m
}

func (m *probeMeter) run(length time.Duration) {
	n := m.underWay.Add(1)
	defer m.underWay.Add(-1)
	now := int64(time.Since(m.epoch))
	gap := now - m.last.Swap(now)
	m.probes.Add(1)
	if n > 1 {
		m.overlapping.Add(1)
	}
	if gap < int64(StressCooldown/2) {
		m.early.Add(1)
	}
	raise(&m.worst, n)
	lower(&m.shortest, gap)
	for start := time.Now(); time.Since(start) < length; {
	}
}

func (m *probeMeter) result() StressResult {
	return StressResult{
		Probes: m.probes.Load(), Early: m.early.Load(), Overlapping: m.overlapping.Load(),
		Worst: m.worst.Load(), Shortest: time.Duration(m.shortest.Load()),
	}
}

func raise(to *atomic.Int64, v int64) {
	for old := to.Load(); v > old && !to.CompareAndSwap(old, v); old = to.Load() {
	}
}

func lower(to *atomic.Int64, v int64) {
	for old := to.Load(); v < old && !to.CompareAndSwap(old, v); old = to.Load() {
	}
}
