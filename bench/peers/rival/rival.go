// Package rival puts atomicbreaker and the other circuit breakers that Go has
// behind one small adapter, a file each, set up to do the same job. The table in
// table.go lists them.
//
// The job, as far as a breaker can express it: trip at 50 % failures of at least
// 100 calls in a window of 10 s in 10 buckets, stay open for an hour, allow one
// probe. Every subject is driven by the fastest path that its documentation
// shows. A subject that cannot do a row says why.
package rival

import (
	"errors"
	"runtime/debug"
	"time"
)

// A Row is a situation that is measured. In each the protected function itself
// does nothing.
type Row string

// The rows, in the order of reports.
const (
	RefusedOpen     Row = "refused-open"      // the breaker is open: every call is refused
	RefusedHalfOpen Row = "refused-half-open" // its only probe is under way: every call is refused
	ClosedSuccess   Row = "closed-success"    // every call is admitted and succeeds
	ClosedTenth     Row = "closed-10pct"      // every tenth call fails, the threshold being 50 %
	ErrorReturned   Row = "error-returned"    // every call fails, the threshold being out of reach
	DoClosure       Row = "do-closure"        // the wrapper form with a closure over a local variable
	SlowTracking    Row = "slow-tracking"     // as closed-success, with a rule for slow calls
)

// Rows returns every row.
func Rows() []Row {
	return []Row{RefusedOpen, RefusedHalfOpen, ClosedSuccess, ClosedTenth, ErrorReturned, DoClosure, SlowTracking}
}

// The settings that every subject gets, as far as it has them.
const (
	failureRate  = 0.5
	minimumCalls = 100
	window       = 10 * time.Second
	buckets      = 10
	outOfReach   = 1_000_000_000 // a number of calls that no row makes in a window
)

// A Job is what a subject is set up for.
type Job struct {
	Cooldown  time.Duration // how long the breaker stays open
	Minimum   int           // how many calls must be in the window before the rate can trip
	TrackSlow bool          // whether calls are timed, the limit being one that no call reaches
	HoldProbe bool          // whether a probe will be under way for as long as the breaker lives
	Closed    bool          // whether failures will come that must not trip it
}

// JobOf returns the job of a row.
func JobOf(row Row) Job {
	job := Job{Cooldown: time.Hour, Minimum: minimumCalls}
	switch row {
	case ClosedTenth:
		job.Closed = true
	case RefusedHalfOpen:
		job.Cooldown, job.HoldProbe = time.Millisecond, true
	case ErrorReturned:
		job.Minimum, job.Closed = outOfReach, true
	case SlowTracking:
		job.TrackSlow = true
	}
	return job
}

// A Call makes one call through a breaker and reports whether it was admitted.
// It may be used from many goroutines at once.
type Call func() bool

// An Instance is one breaker, ready for calls.
type Instance struct {
	Success Call // the function succeeds
	Failure Call // the function fails
	Closure Call // the wrapper form around a closure; nil where there is none

	// Probe makes one call that runs body and then fails.
	Probe func(body func()) bool

	// Close gives back what the breaker holds; nil where it holds nothing.
	Close func()
}

// A Subject is one breaker library driven through one of its interfaces.
type Subject struct {
	Impl   string // the library, as in /impl=
	API    string // the interface, as in /api=
	Module string // its module path

	Build func(Job) Instance

	// Lacks tells for rows that the subject cannot do why not.
	Lacks map[Row]string

	// ByChance is set for a subject that refuses with a probability instead
	// of a state: a few calls pass in its refused rows.
	ByChance bool

	// Ramps is set for a subject whose half-open state admits a share of the
	// calls instead of probes.
	Ramps bool

	// Leaks tells why a closed subject refuses some healthy calls; empty for
	// one that does not.
	Leaks string

	// Unlimited tells why the subject has no probe limit that could be
	// broken; empty for one that has.
	Unlimited string

	// Slots is set for a subject that admits one probe per span of the wall
	// clock whatever became of the last, so that probes overlap by design.
	Slots bool

	// New makes a bare breaker, closed and unused, for measuring memory, and Use
	// makes a successful call through it. Both are nil where another API of
	// the same library has them.
	New func() any
	Use func(breaker any)
}

// Key returns the subject's part of a benchmark name.
func (s Subject) Key() string { return "impl=" + s.Impl + "/api=" + s.API }

// Rival reports whether the subject is somebody else's.
func (s Subject) Rival() bool { return s.Module != ourModule }

// Wrapper reports whether the subject wraps a function, as opposed to asking
// first and reporting afterwards.
func (s Subject) Wrapper() bool { return s.Lacks[DoClosure] == "" || s.API == "handler" }

// Version returns the version of the subject's module in this program, or the
// empty string when it is not known.
func (s Subject) Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == s.Module && dep.Replace == nil {
			return dep.Version
		}
	}
	return ""
}

// ErrLacks is wrapped by the error of a row that a subject cannot do.
var ErrLacks = errors.New("n/a")

// errFailed is what the protected function returns when it fails.
var errFailed = errors.New("failed")

// Reasons for rows left out that several subjects share.
const (
	noSlowRule  = "has no rule for slow calls"
	noHalfOpen  = "has no half-open state"
	noLimit     = "limits no probes: half-open admits every caller"
	noWrapper   = "has no wrapper form"
	otherForm   = "the wrapper form is another api"
	noThreshold = "refuses by chance as soon as calls fail; no threshold to put out of reach"
)
