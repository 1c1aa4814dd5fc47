// Package sim runs circuit breakers through outages, surges and partial
// failures in virtual time, and judges what came of it.
//
// The callers, the dependency and their chances are simulated. The breaker is
// the real one of package atomicbreaker, on a clock that is moved by hand and
// with a source of chance that repeats. So a run of a hundred seconds takes
// some milliseconds, and one seed gives one trace, to the last bit, on any
// machine: there are no goroutines in a run, no maps are walked, and no
// arithmetic depends on whether a processor fuses products with sums.
//
// # The question
//
// What does a dependency do with more calls than it can serve? A classic
// breaker asks one that was down whether one call succeeds, and then sends it
// everything. That verdict holds only for a dependency whose health does not
// depend on its load. In front of one that was merely overloaded it makes an
// outage without end out of ten seconds of surge. The [Lab] shows it with no
// chance in it, [Suite] with queues, timeouts, retries and fleets, and
// [ClassicLoad] on the back of an envelope.
//
// # Traffic and dependency
//
// A [Scenario] is [Traffic] and a [Dependency], and a timeline of phases. Open
// traffic is a Poisson process whose calls come no matter how earlier
// ones end; closed traffic is a number of callers that think, call, and think
// again. A caller that is refused or fails waits and asks again, as often as the
// scenario says. The dependency has workers and a queue. A full queue fails a
// call at once; a client that has waited for its timeout leaves, and the
// dependency, which cannot know, works on what it left behind. It can be dead,
// hang, answer with errors, lose workers, come back cold, or have a quota.
//
// Every policy sees the same calls: a draw depends on the seed, the call and
// the attempt, never on what was drawn before it.
//
// # Figures
//
// [Run] gives the books of one run, [Result.Metrics] its figures and
// [RunSuite] the medians over seeds, with a [Check] for every [Target]. The
// oracle, which knows the dependency's queue, is the physical limit that most
// targets are measured against.
//
// # Other breakers
//
// A [Contender] makes a [Policy], which is three methods. One that can be given
// a clock takes the [Site]'s. One that reads package time runs inside a
// testing/synctest bubble, where time moves when everybody sleeps, and hands
// [Run] a [Time] that lets it pass:
//
//	synctest.Test(t, func(t *testing.T) {
//		sim.Run(scenario, rival, seed, sim.Time{Clock: clock.System(), Advance: pass})
//	})
//
//	func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }
//
// The package rivals holds what breakers of others did in the suite, recorded
// in that way, so that nobody who runs the simulator downloads them.
//
// A run is not a proof: it holds for its scenario and its seeds. The package
// is not for load tests of real services; see cmd/loadgen for that.
package sim
