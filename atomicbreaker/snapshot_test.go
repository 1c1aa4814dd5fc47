package atomicbreaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSnapshotTellsEveryField brings each field to a value of its own.
func TestSnapshotTellsEveryField(t *testing.T) {
	b, manual := made(t, Config{
		Name: "payments", ConsecutiveFailures: 3, SlowCallDuration: time.Second, MinimumCalls: 100,
		OnTransition: func(Transition) { panic("a listener's own fault") },
	})
	manual.Advance(time.Second)
	calls(t, b, 5, Success)
	calls(t, b, 2, Ignored)
	require.True(t, admitted(t, b).Cancel())
	slow := admitted(t, b)
	manual.Advance(time.Second)
	require.True(t, slow.Report(Success))
	calls(t, b, 2, Failure)
	require.Equal(t, Snapshot{
		Name: "payments", At: 2 * time.Second, Rolling: Counts{Calls: 8, Failures: 2, Slow: 1},
		Succeeded: 6, Failed: 2, Ignored: 2, Cancelled: 1, Slow: 1,
	}, b.Snapshot())

	late := admitted(t, b)
	calls(t, b, 1, Failure)
	manual.Advance(200 * time.Millisecond)
	require.True(t, late.Report(Success))
	for range 4 {
		refused(t, b, ErrOpen)
	}
	require.Equal(t, Snapshot{
		Name: "payments", State: StateOpen, Generation: 1, At: 2200 * time.Millisecond, Since: 2 * time.Second, Reason: ReasonStreak,
		RetryAfter: 300 * time.Millisecond, Succeeded: 6, Failed: 3, Ignored: 2, Cancelled: 1, Slow: 1, Late: 1,
		RefusedOpen: 4, Opened: 1, TimeOpen: 200 * time.Millisecond, ListenerPanics: 1,
	}, b.Snapshot())

	manual.Advance(300 * time.Millisecond)
	require.True(t, b.Snapshot().Unprobed)
	probe := admitted(t, b)
	refused(t, b, ErrProbeLimit)
	manual.Advance(100 * time.Millisecond)
	require.True(t, probe.Report(Success))
	admitted(t, b)
	b.SetMode(Shadow)
	admitted(t, b)
	admitted(t, b)
	admitted(t, b) // beyond the window
	require.Equal(t, Snapshot{
		Name: "payments", State: StateHalfOpen, Mode: Shadow, Generation: 2, At: 2600 * time.Millisecond, Since: 2500 * time.Millisecond,
		Reason: ReasonCooldown, Succeeded: 7, Failed: 3, Ignored: 2, Cancelled: 1, Slow: 1, Late: 1,
		RefusedOpen: 4, RefusedHalfOpen: 1, WouldRefuse: 1, ProbesInFlight: 3, ProbeWindow: 3,
		LastProbe: LastProbe{Settled: true, Outcome: Success, Latency: 100 * time.Millisecond},
		Opened:    1, TimeOpen: 500 * time.Millisecond, ListenerPanics: 2,
	}, b.Snapshot())

	b.Trip()
	manual.Advance(b.RetryAfter())
	admitted(t, b)
	manual.Advance(30 * time.Second)
	b.SetMode(ForcedOpen)
	refused(t, b, ErrForced)
	refused(t, b, ErrForced)
	s := b.Snapshot()
	require.Equal(t, uint64(1), s.Abandoned)
	require.Equal(t, uint64(2), s.RefusedForced)
	require.Equal(t, uint64(4+1+2), s.Refused())
	require.Equal(t, ForcedOpen, s.Mode)
	require.Zero(t, s.RetryAfter)
}

func TestEveryFieldOfASnapshotHasANameOfItsOwnInJSON(t *testing.T) {
	seen := make(map[string]bool)
	for field := range reflect.TypeFor[Snapshot]().Fields() {
		name := field.Tag.Get("json")
		require.NotEmpty(t, name, field.Name)
		require.Equal(t, strings.ToLower(name), name)
		require.False(t, seen[name], name)
		seen[name] = true
		if field.Type == reflect.TypeFor[time.Duration]() {
			require.True(t, strings.HasSuffix(name, "_ns"), "%s: the unit", name)
		}
	}
}

// TestJSONOfASnapshotIsStable pins the text that dashboards read.
func TestJSONOfASnapshotIsStable(t *testing.T) {
	b, manual := made(t, Config{Name: "payments", ConsecutiveFailures: 2})
	calls(t, b, 1, Success)
	calls(t, b, 2, Failure)
	manual.Advance(100 * time.Millisecond)
	text, err := json.Marshal(b.Snapshot())
	require.NoError(t, err)
	require.Equal(t, `{"name":"payments","state":"open","mode":"auto","generation":1,"at_ns":100000000,"since_ns":0,"reason":"streak",`+
		`"retry_after_ns":400000000,"rolling":{"calls":0,"failures":0,"slow":0},"succeeded":1,"failed":2,"ignored":0,"cancelled":0,"late":0,`+
		`"local":0,"slow":0,"abandoned":0,"refused_open":0,"refused_half_open":0,"refused_forced":0,"would_refuse":0,"probes_in_flight":0,`+
		`"probe_window":0,"unprobed":false,"last_probe":{"settled":false,"outcome":"success","latency_ns":0},`+
		`"latency":{"usual_ns":0,"high_ns":0,"deadline_ns":0},"opened":1,`+
		`"time_open_ns":100000000,"listener_panics":0}`, string(text))
	var back Snapshot
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, b.Snapshot(), back)
}

func TestSnapshotAlwaysEncodes(t *testing.T) {
	for name, situation := range situations {
		b, _ := situation(t, Config{})
		_, err := json.Marshal(b.Snapshot())
		require.NoError(t, err, name)
	}
	require.Zero(t, Counts{}.FailureRate(), "a share of nothing is 0, not NaN")
	require.Zero(t, Counts{}.SlowRate())
	require.Equal(t, 0.25, Counts{Calls: 4, Failures: 1}.FailureRate())
	require.Equal(t, 0.5, Counts{Calls: 4, Slow: 2}.SlowRate())
}

func TestTextOfEveryValueIsStableAndComesBack(t *testing.T) {
	texts[State](t, "state", "closed", "open", "half-open")
	texts[Mode](t, "mode", "auto", "forced-open", "forced-closed", "shadow")
	texts[Outcome](t, "outcome", "success", "failure", "ignored", "local")
	texts[Reason](t, "reason", "none", "streak", "failure-rate", "slow-call-rate", "ready-to-trip", "cooldown",
		"probe-failed", "probe-timeout", "recovered", "trip-called", "reset-called", "set-mode-called",
		"end-cooldown-called", "near-deadline")
}

// texter is a value with a text of its own.
type texter interface {
	~uint8
	fmt.Stringer
	MarshalText() ([]byte, error)
}

func texts[T texter](t *testing.T, kind string, names ...string) {
	t.Helper()
	for i, name := range names {
		v := T(i)
		require.Equal(t, name, v.String())
		text, err := v.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(text))
		var back T
		require.NoError(t, any(&back).(interface{ UnmarshalText([]byte) error }).UnmarshalText(text))
		require.Equal(t, v, back)
	}
	unknown := T(len(names))
	require.Equal(t, fmt.Sprintf("unknown %s %d", kind, len(names)), unknown.String())
	_, err := unknown.MarshalText()
	require.EqualError(t, err, fmt.Sprintf("atomicbreaker: unknown %s %d, want 0 to %d", kind, len(names), len(names)-1))
	back := T(1)
	err = any(&back).(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte("ajar"))
	require.EqualError(t, err, fmt.Sprintf("atomicbreaker: unknown %s \"ajar\", want one of %q", kind, names))
	require.Equal(t, T(1), back, "an unknown text changed the value")
}

func TestTotalsAreOf64Bits(t *testing.T) {
	b, _ := made(t, Config{ConsecutiveFailures: Off})
	s := b.ring.Pick()
	for i := range 8 + counters { // totals and plain counters
		if i >= 3 && i < 6 || i >= 8 {
			s[i].Store(math.MaxUint32)
		}
	}
	calls(t, b, 1, Success)
	calls(t, b, 1, Failure)
	calls(t, b, 1, Ignored)
	require.True(t, admitted(t, b).Cancel())
	got := b.Snapshot()
	for _, n := range []uint64{got.Succeeded, got.Failed, got.Ignored, got.Cancelled} {
		require.Equal(t, uint64(math.MaxUint32)+1, n)
	}
}

func TestRefusalIsPrebuiltAndTellsAllByMethod(t *testing.T) {
	for _, name := range []string{"", "payments"} {
		b, manual := halfOpened(t, Config{Name: name})
		admitted(t, b)
		probe := refused(t, b, ErrProbeLimit)
		b.Trip()
		open := refused(t, b, ErrOpen)
		b.SetMode(ForcedOpen)
		forced := refused(t, b, ErrForced)

		for _, x := range []struct {
			err  *RejectedError
			is   []error
			not  []error
			text string
		}{
			{open, []error{ErrOpen}, []error{ErrForced, ErrProbeLimit}, "circuit breaker is open"},
			{probe, []error{ErrProbeLimit}, []error{ErrForced, ErrOpen}, "circuit breaker is half-open and its probes are under way"},
			{forced, []error{ErrForced, ErrOpen}, []error{ErrProbeLimit}, "circuit breaker is forced open"},
		} {
			wrapped := fmt.Errorf("store: %w", x.err)
			for _, kind := range x.is {
				require.ErrorIs(t, wrapped, kind)
			}
			for _, kind := range x.not {
				require.NotErrorIs(t, wrapped, kind)
			}
			require.True(t, IsRejected(wrapped))
			require.Equal(t, name, x.err.Name())
			want := "atomicbreaker: " + x.text
			if name != "" {
				want = "atomicbreaker: payments: " + x.text
			}
			require.EqualError(t, x.err, want)
		}
		require.Same(t, forced, refused(t, b, ErrForced), "one per breaker and kind")

		// RetryAfter is told as of the asking, not of the refusal.
		b.SetMode(Auto)
		b.Reset()
		b.Trip()
		require.Equal(t, 500*time.Millisecond, open.RetryAfter())
		manual.Advance(200 * time.Millisecond)
		require.Equal(t, 300*time.Millisecond, open.RetryAfter())
	}
	for _, err := range []error{nil, errFailed, ErrOpen, ErrProbeLimit, ErrForced, errors.Join(errFailed, ErrOpen)} {
		require.False(t, IsRejected(err), "%v is nobody's refusal", err)
	}
	for _, err := range []error{ErrOpen, ErrProbeLimit, ErrForced} {
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestUnprobedMeansThatNoCallHasCome(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	for range 3 {
		manual.Advance(time.Hour)
		b.Ready()
		require.True(t, b.Snapshot().Unprobed)
	}
	require.True(t, admitted(t, b).Cancel())
	require.False(t, b.Snapshot().Unprobed)
	b.Reset()
	require.False(t, b.Snapshot().Unprobed)
	b.Trip()
	manual.Advance(b.RetryAfter())
	require.True(t, b.Snapshot().Unprobed, "of this half-open")
}

func TestTimeOpenAddsUp(t *testing.T) {
	b, manual := made(t, Config{})
	total := time.Duration(0)
	open := func(d time.Duration) {
		for range 4 {
			manual.Advance(d / 4)
			total += d / 4
			require.Equal(t, total, b.Snapshot().TimeOpen)
		}
	}
	for range 3 {
		manual.Advance(10 * time.Second)
		b.Trip()
		open(400 * time.Millisecond)
		b.Reset()
		manual.Advance(time.Second)
		b.Trip()
		open(500 * time.Millisecond)
		require.Equal(t, StateHalfOpen, b.State())
		manual.Advance(time.Second)
		b.SetMode(ForcedOpen)
		open(2 * time.Second)
		b.Trip()
		open(time.Second)
		b.SetMode(Auto) // open it stays, by command
		open(500 * time.Millisecond)
		require.Equal(t, StateHalfOpen, b.State())
		b.Reset()
		require.Equal(t, total, b.Snapshot().TimeOpen)
	}
	require.Equal(t, uint64(9), b.Snapshot().Opened)
}
