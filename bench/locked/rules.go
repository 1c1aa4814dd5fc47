package locked

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// The constants of the recovery window, by the names of its description.
const (
	inUse       = 3     // a window of which less than this part is in use does not grow
	cutShare    = 5     // a cut leaves 5/8 of the probes that were in flight
	cutWhole    = 8     // when the failing one was sent, itself left out
	doorShare   = 3     // where it failed more quickly than any success, 3/4
	doorWhole   = 4     //
	doorCredit  = 2     // what a fast answer earns around where the window was cut so
	slowFactor  = 3     // G: an answer this many times slower than the fastest is slow
	oneCall     = 64    // credit that makes one place
	slowCredit  = 1     // what a slow answer earns
	fastCredit  = 8     // what a fast answer earns once the window has been cut
	fastGrowth  = 2     // places that a fast answer earns before that
	wellBy      = 10    // net successes show that a dependency is well
	tallyWhole  = 16    // the tally counts in sixteenths of a call
	ageDivisor  = 8     // the default cooldown is this part of the outage's age
	maxWindow   = 16383 // a probe window that outgrows this is health
	minRetry    = time.Millisecond
	noSuchTime  = time.Duration(math.MaxInt64)
	notReadYet  = time.Duration(math.MinInt64)
	defaultRate = 0.5
)

// cutsAt is H: net failures, at the weight of one, that cut the window. There are
// fewer for each episode of an outage that answered and failed again.
var cutsAt = [...]int{5, 3, 2, 1}

// rules is a configuration with its defaults filled in and its switches
// resolved: a rule that is off is one that no count reaches.
type rules struct {
	name string
	mode atomicbreaker.Mode

	window  time.Duration // also where it is one of calls
	width   time.Duration // of a bucket; 0 for a window of calls
	buckets int           // or the number of calls

	minimumCalls uint64
	failureRate  float64       // above 1 when off
	slowRate     float64       // above 1 when off
	streak       uint64        // the largest number when off
	lasting      time.Duration // of a streak of the default limit, from its fifth failure on
	slow         time.Duration
	tracksSlow   bool
	readyToTrip  func(atomicbreaker.Counts) bool

	cooldown atomicbreaker.Cooldown // Jitter 0 when off
	recovery atomicbreaker.Recovery
	credit   int // T': what a success takes off the tally, in sixteenths

	classify     func(error) atomicbreaker.Outcome
	onTransition func(atomicbreaker.Transition)
	clock        clock.Clock
	rand         func() float64
}

// ruled resolves a valid configuration.
func ruled(c atomicbreaker.Config) rules {
	r := rules{
		name:         c.Name,
		mode:         c.Mode,
		failureRate:  share(c.FailureRate),
		slowRate:     share(c.SlowCallRate),
		streak:       math.MaxUint64,
		readyToTrip:  c.ReadyToTrip,
		cooldown:     c.Cooldown,
		recovery:     c.Recovery,
		classify:     c.Classify,
		onTransition: c.OnTransition,
		clock:        c.Clock,
		rand:         c.Rand,
	}
	if r.clock == nil {
		r.clock = clock.System()
	}
	if r.rand == nil {
		r.rand = rand.Float64
	}

	r.window = cmp.Or(c.Window, 10*time.Second)
	minimum := cmp.Or(c.MinimumCalls, 10)
	if c.WindowCalls > 0 {
		r.buckets = c.WindowCalls
		if c.MinimumCalls == 0 {
			minimum = min(minimum, c.WindowCalls)
		}
	} else {
		r.buckets = cmp.Or(c.Buckets, 10)
		r.width = cmp.Or(c.Window, 10*time.Second) / time.Duration(r.buckets)
	}
	r.minimumCalls = uint64(minimum)

	if n := cmp.Or(c.ConsecutiveFailures, 20); n > 0 {
		r.streak = uint64(n)
	}
	if c.ConsecutiveFailures == 0 {
		r.lasting = 50 * time.Millisecond
	}
	if c.SlowCallDuration > 0 {
		r.slow, r.tracksSlow = c.SlowCallDuration, true
	}

	r.cooldown.Min = cmp.Or(c.Cooldown.Min, 500*time.Millisecond)
	r.cooldown.Max = cmp.Or(c.Cooldown.Max, max(5*time.Second, r.cooldown.Min))
	r.cooldown.Jitter = max(0, cmp.Or(c.Cooldown.Jitter, 0.25))

	r.recovery.Successes = cmp.Or(c.Recovery.Successes, c.Recovery.Probes)
	r.recovery.Concurrent = cmp.Or(c.Recovery.Concurrent, c.Recovery.Probes)
	r.recovery.Quiet = cmp.Or(c.Recovery.Quiet, time.Second)
	r.recovery.ProbeTimeout = cmp.Or(c.Recovery.ProbeTimeout, 30*time.Second)

	threshold := r.failureRate
	if threshold > 1 {
		threshold = defaultRate
	}
	r.credit = min(max(int(math.Round(tallyWhole*threshold)), 1), tallyWhole-1)
	return r
}

// share resolves a rate: the default for 0, out of reach when off.
func share(rate float64) float64 {
	if rate == atomicbreaker.Off {
		return 2
	}
	return cmp.Or(rate, defaultRate)
}
