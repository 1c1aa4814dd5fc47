package breakerredis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of what a fleet of three processes with four breakers each survives.
const (
	smallProcesses = 3
	smallBreakers  = 4
	smallTTL       = 300 * time.Millisecond
)

func smallJob(redisAddr, url string) job {
	return job{Redis: redisAddr, Dependency: url, Breakers: smallBreakers, TTL: smallTTL, Every: 10 * time.Millisecond, Timeout: 50 * time.Millisecond}
}

// allTrip waits until every breaker has tripped.
func allTrip(t *testing.T, d *dependency, workers []*worker) {
	t.Helper()
	eventually(t, 20*time.Second, "all processes call", func() bool {
		from := map[int]bool{}
		for _, h := range d.since(time.Time{}) {
			from[h.from] = true
		}
		return len(from) == len(workers)
	})
	d.dead.Store(true)
	eventually(t, 10*time.Second, "all trip", func() bool {
		tripped := 0
		for _, w := range workers {
			seen := map[int]bool{}
			for _, e := range since([]*worker{w}, time.Time{}) {
				if e.To == "open" && !seen[e.Breaker] {
					seen[e.Breaker] = true
					tripped++
				}
			}
		}
		return tripped == len(workers)*smallBreakers
	})
}

// hangingHolder lets the dependency hang, and returns the worker that probes it.
func hangingHolder(t *testing.T, d *dependency, workers []*worker) *worker {
	t.Helper()
	d.hanging.Store(true)
	began := time.Now()
	d.dead.Store(false)
	var holder *worker
	eventually(t, 10*time.Second, "one probes", func() bool {
		for _, h := range d.since(began) {
			if !h.good {
				continue
			}
			for _, w := range workers {
				if w.cmd.Process.Pid == h.from {
					holder = w
				}
			}
			return true
		}
		return false
	})
	// It keeps the lease for longer than that lives without renewal.
	<-time.After(2 * smallTTL)
	for _, h := range d.since(began) {
		if h.good {
			require.Equal(t, holder.cmd.Process.Pid, h.from, "another probes while the lease is renewed")
		}
	}
	return holder
}

// anotherProbes waits for a probe of a process other than the holder, and
// returns how long that took.
func anotherProbes(t *testing.T, d *dependency, holder *worker) time.Duration {
	t.Helper()
	began := time.Now()
	var took time.Duration
	eventually(t, 10*time.Second, "another probes", func() bool {
		for _, h := range d.since(began) {
			if h.from != holder.cmd.Process.Pid {
				took = h.at.Sub(began)
				return true
			}
		}
		return false
	})
	return took
}

// A lease holder that is killed, or stopped for longer than the TTL, holds the
// fleet up for a TTL, and comes back without harm.
func TestFleetSurvivesItsHolder(t *testing.T) {
	for name, hurt := range map[string]func(*worker){
		"killed":  func(w *worker) { _ = w.cmd.Process.Kill() },
		"stopped": func(w *worker) { _ = w.cmd.Process.Signal(stop) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			d := startDependency(t)
			m := startMonitor(t, s.addr())
			workers := startWorkers(t, smallProcesses, smallJob(s.addr(), d.URL))
			allTrip(t, d, workers)
			holder := hangingHolder(t, d, workers)
			hurt(holder)
			took := anotherProbes(t, d, holder)
			t.Logf("another probes after %v", took)
			require.Less(t, took, smallTTL+time.Second)

			d.hanging.Store(false)
			close(d.release)
			var others []*worker
			for _, w := range workers {
				if w != holder {
					others = append(others, w)
				}
			}
			closed := func(of []*worker) func() bool {
				return func() bool { return inState(of, smallBreakers, "closed") == len(of)*smallBreakers }
			}
			eventually(t, 10*time.Second, "the others close", closed(others))
			if name == "stopped" {
				_ = holder.cmd.Process.Signal(resume)
				eventually(t, 10*time.Second, "all close", closed(workers))
			}
			_, overlaps := m.seen()
			require.Empty(t, overlaps)
		})
	}
}

// Redis goes in the middle of an outage: each breaker for itself, until it is
// back, empty.
func TestFleetSurvivesItsRedis(t *testing.T) {
	s := startRedis(t)
	d := startDependency(t)
	workers := startWorkers(t, smallProcesses, smallJob(s.addr(), d.URL))
	allTrip(t, d, workers)
	reasons := func(from time.Time, reason string) int {
		n := 0
		for _, e := range since(workers, from) {
			if e.To == "half-open" && e.Reason == reason {
				n++
			}
		}
		return n
	}
	began := time.Now()
	eventually(t, 10*time.Second, "leases", func() bool { return reasons(began, "end-cooldown-called") > 3 })
	require.Zero(t, reasons(began, "cooldown"))

	s.kill()
	gone := time.Now()
	eventually(t, 10*time.Second, "each for itself", func() bool { return reasons(gone, "cooldown") >= smallProcesses*smallBreakers })

	s.start()
	m := startMonitor(t, s.addr())
	back := time.Now()
	eventually(t, 10*time.Second, "leases again", func() bool { return reasons(back.Add(time.Second), "end-cooldown-called") > 3 })
	require.LessOrEqual(t, reasons(back.Add(1500*time.Millisecond), "cooldown"), 1)

	d.dead.Store(false)
	eventually(t, 10*time.Second, "all close", func() bool {
		return inState(workers, smallBreakers, "closed") == smallProcesses*smallBreakers
	})
	_, overlaps := m.seen()
	require.Empty(t, overlaps)
}

// A part of the fleet cannot reach Redis, and is not told so: its packets
// vanish. It probes for itself; the others are not disturbed.
func TestFleetSurvivesAPartition(t *testing.T) {
	s := startRedis(t)
	p := startProxy(t, s.addr())
	d := startDependency(t)
	apart := startWorkers(t, 1, smallJob(p.addr(), d.URL))
	together := startWorkers(t, 2, smallJob(s.addr(), d.URL))
	workers := append(append([]*worker(nil), apart...), together...)
	allTrip(t, d, workers)
	halfOpened := func(of []*worker, from time.Time, reason string) int {
		n := 0
		for _, e := range since(of, from) {
			if e.To == "half-open" && e.Reason == reason {
				n++
			}
		}
		return n
	}
	p.dropping.Store(true)
	began := time.Now().Add(100 * time.Millisecond)
	eventually(t, 10*time.Second, "those apart probe for themselves", func() bool {
		return halfOpened(apart, began, "cooldown") >= 2*smallBreakers && halfOpened(together, began, "end-cooldown-called") > 2
	})
	require.Zero(t, halfOpened(apart, began, "end-cooldown-called"))
	require.LessOrEqual(t, halfOpened(together, began, "cooldown"), 1)

	p.dropping.Store(false)
	healed := time.Now()
	eventually(t, 10*time.Second, "those apart take part again", func() bool { return halfOpened(apart, healed, "end-cooldown-called") > 0 })
	d.dead.Store(false)
	eventually(t, 10*time.Second, "all close", func() bool {
		return inState(workers, smallBreakers, "closed") == len(workers)*smallBreakers
	})
}
