package atomicbreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/clock"
)

// Off switches off a rule or feature whose field says that it can be. It is
// the only negative value that any field of a [Config] accepts.
const Off = -1

// Config says how a breaker behaves. The zero value is valid and means the
// default everywhere. A Config is read by [New] and never again; to change a
// setting, make a new breaker and swap it in.
//
// A breaker must have at least one rule that can trip it. Durations are 1 ms
// to 24 h unless a field says otherwise. [Config.Validate] reports every fault.
type Config struct {
	// Name labels the breaker in errors, events and metrics. UTF-8, at most
	// 256 bytes, no control characters. Default: empty.
	Name string

	// Window is the length of the rolling window that the rates are taken
	// over, and Buckets (1 to 128) the number of equal parts by which it
	// moves: an outcome counts for Window less up to one bucket. A bucket must
	// be a whole number of milliseconds. Defaults: 10 s, 10.
	Window  time.Duration
	Buckets int

	// WindowCalls, 1 to 1024, takes the rates over the last so many outcomes
	// instead of over a time. It cannot be combined with Window or Buckets.
	// Default: 0, a window of time.
	WindowCalls int

	// MinimumCalls is how many successes and failures the window must hold
	// before a rate can trip, 1 to 1 000 000 000, and not above WindowCalls where
	// that is set. Default: 10, or WindowCalls if that is smaller.
	MinimumCalls int

	// FailureRate trips when the share of failures in the window reaches it,
	// above 0 to 1, or Off. Default: 0.5.
	FailureRate float64

	// ConsecutiveFailures trips when so many failures have been settled with
	// no success between, 1 to 1 000 000, or Off. Unlike a rate, a streak does not
	// fade with time. A limit of 3 or less is exact however the failures are
	// spread over goroutines; a larger one is exact for one goroutine and
	// otherwise late by at most two failures for every stripe in use but one.
	// Default: 20, of which the last 15 must have taken 50 ms at least; so calls
	// that run into their deadline at the same time are not a streak.
	ConsecutiveFailures int

	// SlowCallDuration makes a call slow that takes this long or longer from
	// Acquire to its settling, 1 us to 24 h, or Off. Tracking slow calls costs
	// two readings of the clock per call. Default: Off.
	SlowCallDuration time.Duration

	// SlowCallRate trips when the share of slow calls in the window reaches
	// it, above 0 to 1, or Off (slow calls are then only counted, and fail as
	// probes). Setting it needs SlowCallDuration. Default: 0.5.
	SlowCallRate float64

	// ReadyToTrip is a rule of your own: asked after every failure and
	// every slow call of a closed breaker, with the window including that
	// call, it trips the breaker by returning true. It runs on the settling
	// goroutine, concurrently with itself. Default: nil.
	ReadyToTrip func(Counts) bool

	// Deadline is how long callers wait for an answer, 1 ms to 24 h. A breaker that
	// knows it acts before calls fail: when answers come to take more than a quarter of
	// the time that callers have left beyond the usual latency, a closed breaker
	// becomes half-open and admits as many calls at a time as the dependency answers
	// within half of that time. Unset: what the context says that is given to Do
	// and AcquireContext; where none has a deadline, nothing of this happens. Off:
	// never. It needs the probe window, not Recovery.Probes. Default: unset.
	Deadline time.Duration

	// Patience is how long the dependency must have been given before a call whose
	// own context ended counts against it, 1 us to 24 h. A call that returns an error
	// after its context was cancelled or its deadline passed is a Failure if it
	// took Patience or longer, and [Local] if not: then nobody knows how the
	// dependency would have answered. Off: a cancelled call is always Local, a
	// passed deadline always a Failure.
	//
	// Default: learned, twice the latency that 95 of 100 successes do not exceed; as
	// long as there are too few, a passed deadline is a Failure, and a cancelled
	// call is one after a second.
	Patience time.Duration

	// Cooldown says how long the breaker stays open.
	Cooldown Cooldown

	// Recovery says how it finds out that it may close.
	Recovery Recovery

	// Classify decides what an error says about health. It is asked for errors
	// only, never for nil, for a call whose own context was cancelled or for
	// another breaker's refusal: those are Success, Ignored and Ignored. It
	// may run concurrently. Default: every error is a Failure, a deadline that
	// passed included.
	Classify func(error) Outcome

	// OnTransition is called with every change of state, once each, one at a
	// time and in order, by a goroutine that holds no lock: the one that made
	// the change, or one that is telling of an earlier change. It may call
	// back into the breaker. A slow listener delays announcements and that
	// one goroutine, never other calls. A panic in it is contained and counted
	// in [Snapshot].ListenerPanics. Default: nil.
	OnTransition func(Transition)

	// OnProbe is called with every probe that is settled with an outcome while its
	// half-open episode lasts, by the goroutine that settled it, after the
	// outcome has been counted and judged. It may run concurrently and may call
	// back into the breaker; a slow one delays that one call. A panic in it is
	// contained and counted like one in OnTransition. Default: nil.
	OnProbe func(Probe)

	// Clock is what the breaker goes by. Default: clock.System().
	Clock clock.Clock

	// Rand draws the jitter: it returns a number in [0, 1) and is asked once
	// per opening, unless Cooldown.Jitter is Off. It may run concurrently. Default: math/rand/v2's Float64.
	Rand func() float64

	// Stripes is the most stripes that outcomes are spread over to keep
	// processors from writing to each other's cache lines, a power of two from
	// 1 to 256. A breaker starts with one and adds more only when it sees
	// contention. Default: four per processor, rounded up to a power of two.
	Stripes int

	// Mode is the mode that the breaker starts in. Default: Auto.
	Mode Mode

	// BeforeProbe is asked when a cooldown is over, before the breaker becomes
	// half-open. It returns how much longer the breaker stays open, 1 ms to
	// Cooldown.Max, after which it is asked again; 0 or less lets it go on. It may be
	// asked again sooner. A breaker is held back for at most twelve times
	// Cooldown.Max in all. EndCooldownOf ends the wait sooner.
	//
	// It runs on the goroutine that moves the breaker in time, one at a time for
	// one breaker, and must not block; no call waits for it. A panic in it is
	// contained, counted like one in OnTransition, and lets the breaker go on.
	// A breaker that leaves ForcedOpen does not ask. Default: nil.
	BeforeProbe func(CooldownOver) time.Duration
}

// Cooldown is how long a breaker stays open before it lets a probe through.
type Cooldown struct {
	// Min is the cooldown of a trip and Max the longest one, both before
	// jitter. Defaults: 500 ms; the larger of 5 s and Min.
	Min, Max time.Duration

	// Factor says how the cooldown grows while an outage lasts. 0: with the
	// age of the outage, an eighth of the time since the trip, so that its end
	// is noticed at most an eighth late; a dependency whose probes succeeded and
	// then failed again is a new outage. 1: not at all. Above 1, up to 16: so many
	// times longer at each reopening. Default: 0.
	Factor float64

	// Jitter spreads cooldowns evenly over +- this share, above 0 and below 1,
	// so that breakers that opened together do not probe together. Off gives
	// exact times. Default: 0.25.
	Jitter float64
}

// Recovery is how a half-open breaker decides to close.
//
// By default the number of probes in flight is bounded by a window that
// starts at one, grows with successes and shrinks with failures, and the
// breaker closes when it has stopped refusing anyone. With Probes set it is
// the classic rule instead: so many probes, of which so many must succeed.
type Recovery struct {
	// Probes, 1 to 1024, chooses the classic rule and is the number of probes
	// of one half-open episode. Default: 0, the probe window.
	Probes int

	// Successes, 1 to Probes, is how many of the probes close the breaker; it
	// reopens as soon as too many have failed for that. Default: Probes.
	Successes int

	// Concurrent, 1 to Probes, is how many of them may be in flight at once.
	// Default: Probes.
	Concurrent int

	// Quiet is how long the probe window must have refused nobody before the
	// breaker closes. It is looked at each Quiet from the first probe on. So a
	// breaker that refuses nobody closes one Quiet after its first probe, if that
	// succeeds; otherwise it closes one to two Quiet after the last refusal, or
	// after a probe last took the last place of the window. Quiet is also the
	// shortest silence after which a breaker that waits for hung probes lets one
	// more call through. Default: 1 s.
	Quiet time.Duration

	// ProbeTimeout is the silence after which the probes in flight are given
	// up and the breaker reopens; their functions and contexts are left alone.
	// Not above the cooldown, it also keeps a silent probe from being joined
	// by a second. Default: 30 s.
	ProbeTimeout time.Duration
}
