package atomicbreaker

import (
	"fmt"
	"strconv"
	"time"
)

// State is what a breaker is doing with calls.
type State uint8

const (
	StateClosed   State = iota // every call is admitted
	StateOpen                  // every call is refused
	StateHalfOpen              // a few calls, the probes, are admitted
)

var stateNames = [...]string{"closed", "open", "half-open"}

// String returns closed, open or half-open.
func (s State) String() string { return nameOf(stateNames[:], "state", uint64(s)) }

// MarshalText returns the same text as String. It fails for an unknown state.
func (s State) MarshalText() ([]byte, error) { return textOf(stateNames[:], "state", uint64(s)) }

// UnmarshalText accepts what MarshalText returns.
func (s *State) UnmarshalText(text []byte) error {
	return parseName(s, stateNames[:], "state", text)
}

// Mode says how far a breaker acts by itself.
type Mode uint8

const (
	Auto         Mode = iota // the breaker decides
	ForcedOpen               // every call is refused, no probe is sent
	ForcedClosed             // every call is admitted, outcomes are counted, nothing trips
	Shadow                   // the breaker decides and announces, but refuses nobody
)

var modeNames = [...]string{"auto", "forced-open", "forced-closed", "shadow"}

// String returns auto, forced-open, forced-closed or shadow.
func (m Mode) String() string { return nameOf(modeNames[:], "mode", uint64(m)) }

// MarshalText returns the same text as String. It fails for an unknown mode.
func (m Mode) MarshalText() ([]byte, error) { return textOf(modeNames[:], "mode", uint64(m)) }

// UnmarshalText accepts what MarshalText returns.
func (m *Mode) UnmarshalText(text []byte) error { return parseName(m, modeNames[:], "mode", text) }

// Outcome is what a call says about the health of the dependency.
type Outcome uint8

const (
	// Success: the dependency did its work. A quick negative answer (not
	// found, conflict, invalid request) is a Success too: the server is well.
	Success Outcome = iota

	// Failure: the dependency did not do its work, or not in time.
	Failure

	// Ignored: the call says nothing about health. It leaves counts, streaks
	// and probe budgets as they were and gives a probe's place back. Ignoring
	// shrinks the sample that the breaker judges by; for a healthy server's
	// negative answers report Success.
	Ignored

	// Local is Ignored with a reason: this process or its caller caused the outcome, not
	// the dependency. The caller left too soon, the request could not be built, or there
	// was no port left to send it from. It counts as Ignored, and in
	// [Snapshot].Local.
	Local
)

var outcomeNames = [...]string{"success", "failure", "ignored", "local"}

// String returns success, failure, ignored or local.
func (o Outcome) String() string { return nameOf(outcomeNames[:], "outcome", uint64(o)) }

// MarshalText returns the same text as String. It fails for an unknown outcome.
func (o Outcome) MarshalText() ([]byte, error) {
	return textOf(outcomeNames[:], "outcome", uint64(o))
}

// UnmarshalText accepts what MarshalText returns.
func (o *Outcome) UnmarshalText(text []byte) error {
	return parseName(o, outcomeNames[:], "outcome", text)
}

// Reason is why a breaker changed its state.
type Reason uint8

const (
	ReasonNone              Reason = iota // no change yet
	ReasonStreak                          // Config.ConsecutiveFailures failures in a row
	ReasonFailureRate                     // Config.FailureRate reached
	ReasonSlowCallRate                    // Config.SlowCallRate reached
	ReasonReadyToTrip                     // Config.ReadyToTrip said yes
	ReasonCooldown                        // the cooldown ended: open to half-open
	ReasonProbeFailed                     // probes failed: half-open to open
	ReasonProbeTimeout                    // probes were silent for Recovery.ProbeTimeout: half-open to open
	ReasonRecovered                       // probes succeeded: half-open to closed
	ReasonTripCalled                      // Breaker.Trip
	ReasonResetCalled                     // Breaker.Reset
	ReasonSetModeCalled                   // Breaker.SetMode
	ReasonEndCooldownCalled               // Breaker.EndCooldown or EndCooldownOf: open to half-open
	ReasonNearDeadline                    // answers took so long that callers would soon give up: closed to half-open
)

var reasonNames = [...]string{
	"none", "streak", "failure-rate", "slow-call-rate", "ready-to-trip", "cooldown",
	"probe-failed", "probe-timeout", "recovered", "trip-called", "reset-called", "set-mode-called",
	"end-cooldown-called", "near-deadline",
}

// String returns the reason in words joined by hyphens, such as failure-rate.
func (r Reason) String() string { return nameOf(reasonNames[:], "reason", uint64(r)) }

// MarshalText returns the same text as String. It fails for an unknown reason.
func (r Reason) MarshalText() ([]byte, error) { return textOf(reasonNames[:], "reason", uint64(r)) }

// UnmarshalText accepts what MarshalText returns.
func (r *Reason) UnmarshalText(text []byte) error {
	return parseName(r, reasonNames[:], "reason", text)
}

func nameOf(names []string, kind string, v uint64) string {
	if v < uint64(len(names)) {
		return names[v]
	}
	return "unknown " + kind + " " + strconv.FormatUint(v, 10)
}

func textOf(names []string, kind string, v uint64) ([]byte, error) {
	if v < uint64(len(names)) {
		return []byte(names[v]), nil
	}
	return nil, fmt.Errorf("atomicbreaker: unknown %s %d, want 0 to %d", kind, v, len(names)-1)
}

func parseName[T ~uint8](to *T, names []string, kind string, text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("atomicbreaker: unknown %s %q, want one of %q", kind, text, names)
}

// Counts are the outcomes in a rolling window, or those of one half-open
// episode. A slow failure is in Failures and in Slow, and once in Calls.
type Counts struct {
	Calls    uint64 `json:"calls"`    // successes and failures
	Failures uint64 `json:"failures"` // of these, the failures
	Slow     uint64 `json:"slow"`     // of these, the calls that took Config.SlowCallDuration or longer
}

// FailureRate returns the share of failures, 0 to 1; 0 without any call.
func (c Counts) FailureRate() float64 { return share(c.Failures, c.Calls) }

// SlowRate returns the share of slow calls, 0 to 1; 0 without any call.
func (c Counts) SlowRate() float64 { return share(c.Slow, c.Calls) }

// share divides the way a reader writes a rate: both numbers are exact in a
// float64 below 2^53 and the division is correctly rounded, so that k of n
// reaches a rate given as k/n.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Transition is one change of state.
type Transition struct {
	Name       string        // the breaker's name
	From, To   State         // From is always the previous transition's To
	Generation uint32        // the generation that began with this change
	Reason     Reason        // why
	Counts     Counts        // to open from closed: the window that tripped; from half-open: its probes; otherwise zero
	At         time.Duration // the instant on the breaker's clock
}

// Probe is one probe that has ended. Those that were cancelled, given up or late are
// not reported.
type Probe struct {
	Name       string        // the breaker's name
	Generation uint32        // the half-open episode that it was part of
	Outcome    Outcome       // as reported
	Slow       bool          // it took Config.SlowCallDuration or longer, and is judged a failure
	Latency    time.Duration // from its admission to its settling
}

// Transitions joins listeners into one for Config.OnTransition. Each is called
// in turn; a panic in one does not keep the later ones from being called, and
// is passed on when all have been. Nil listeners are left out.
func Transitions(listeners ...func(Transition)) func(Transition) {
	var live []func(Transition)
	for _, f := range listeners {
		if f != nil {
			live = append(live, f)
		}
	}
	return func(t Transition) { callAll(live, t) }
}

// callAll runs the rest of the listeners even while a panic passes through.
func callAll(listeners []func(Transition), t Transition) {
	for i, f := range listeners {
		returned := false
		func() {
			defer func() {
				if !returned {
					callAll(listeners[i+1:], t)
				}
			}()
			f(t)
			returned = true
		}()
	}
}
