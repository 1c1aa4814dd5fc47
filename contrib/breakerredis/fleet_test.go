package breakerredis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outage is what a fleet made of an outage.
type outage struct {
	failedProbes int
	firstGood    time.Duration // from the end of the outage
	allClosed    time.Duration
	herd         int // calls in the 100 ms after the first good one
	grants       int
}

// runFleet plays an outage of the dependency to 50 breakers in 5 processes.
func runFleet(t *testing.T, redisAddr string, alive bool, lasts time.Duration) outage {
	const processes, breakers = 5, 10
	d := startDependency(t)
	var m *monitor
	if alive {
		m = startMonitor(t, redisAddr)
	}
	workers := startWorkers(t, processes, job{
		Redis: redisAddr, Dependency: d.URL, Breakers: breakers, Every: 25 * time.Millisecond, Timeout: 100 * time.Millisecond,
	})
	eventually(t, 20*time.Second, "all processes call", func() bool {
		from := map[int]bool{}
		for _, h := range d.since(time.Time{}) {
			from[h.from] = true
		}
		return len(from) == processes
	})
	d.dead.Store(true)
	eventually(t, 10*time.Second, "all trip", func() bool {
		tripped := map[[2]int]bool{}
		for i, w := range workers {
			for _, e := range since([]*worker{w}, time.Time{}) {
				if e.To == "open" {
					tripped[[2]int{i, e.Breaker}] = true
				}
			}
		}
		return len(tripped) == processes*breakers
	})
	began := time.Now()
	<-time.After(lasts)
	mended := time.Now()
	d.dead.Store(false)
	eventually(t, 20*time.Second, "all close", func() bool { return inState(workers, breakers, "closed") == processes*breakers })
	var o outage
	for _, h := range d.since(began) {
		switch {
		case !h.good:
			o.failedProbes++
		case o.firstGood == 0:
			o.firstGood = h.at.Sub(mended)
			o.herd = 1
		case h.at.Sub(mended) < o.firstGood+100*time.Millisecond:
			o.herd++
		}
	}
	for _, e := range since(workers, mended) {
		if e.To == "closed" {
			o.allClosed = max(o.allClosed, e.At.Sub(mended))
		}
	}
	if m != nil {
		var overlaps []string
		o.grants, overlaps = m.seen()
		require.Empty(t, overlaps, "two leases at once, by Redis' own clock")
		require.Greater(t, o.grants, 5)
	}
	return o
}

// Fifty breakers in five processes: with a lease they send at most a fifth of
// the failed probes, and are back no later.
func TestFleetProbesOnce(t *testing.T) {
	const lasts = 4 * time.Second
	s := startRedis(t)
	shared := runFleet(t, s.addr(), true, lasts)
	alone := runFleet(t, "", false, lasts)
	t.Logf("with a lease: %+v", shared)
	t.Logf("without:      %+v", alone)
	require.LessOrEqual(t, shared.failedProbes, 2*shared.grants+2, "one probe for each lease, and those of who had no answer in time on a busy machine")
	require.LessOrEqual(t, shared.grants, int(lasts/(100*time.Millisecond))+10, "one lease for each cooldown of the fleet")
	require.LessOrEqual(t, 5*shared.failedProbes, alone.failedProbes)
	require.LessOrEqual(t, shared.allClosed, alone.allClosed+500*time.Millisecond)
}

// With Redis dead the figures are those of breakers that ask nobody.
func TestFleetWithoutRedis(t *testing.T) {
	const lasts = 2 * time.Second
	s := startRedis(t)
	addr := s.addr()
	s.kill()
	alone := runFleet(t, "", false, lasts)
	dead := runFleet(t, addr, false, lasts)
	t.Logf("Redis dead: %+v", dead)
	t.Logf("no Redis:   %+v", alone)
	require.InEpsilon(t, alone.failedProbes, dead.failedProbes, 0.5)
	require.LessOrEqual(t, dead.allClosed, alone.allClosed+500*time.Millisecond)
}
