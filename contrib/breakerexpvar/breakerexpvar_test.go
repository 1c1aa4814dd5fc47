package breakerexpvar

import (
	"encoding/json"
	"expvar"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// TestDebugVars reads a breaker of a hostile name off the handler that expvar
// serves.
func TestDebugVars(t *testing.T) {
	const name = "a \"b\" </script>\u2028"
	var watch breakerwatch.Watch
	manual := new(clock.Manual)
	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: name, ConsecutiveFailures: 1, Clock: manual}))
	require.NoError(t, watch.Add(b, atomicbreaker.MustNew(atomicbreaker.Config{Name: "calm"})))
	require.NoError(t, Publish(t.Name(), &watch))

	ticket, err := b.Acquire()
	require.NoError(t, err)
	ticket.Report(atomicbreaker.Failure)
	_, err = b.Acquire()
	require.Error(t, err)
	manual.Advance(time.Second)
	probe, err := b.Acquire()
	require.NoError(t, err)
	manual.Advance(2 * time.Millisecond)
	probe.Report(atomicbreaker.Success)

	rec := httptest.NewRecorder()
	expvar.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/debug/vars", nil))
	var vars map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &vars))
	var shown map[string]struct {
		atomicbreaker.Snapshot
		Changed     time.Time
		LastOutcome *time.Time `json:"last_outcome"`
		Transitions []breakerwatch.TransitionCount
		Probes      *breakerwatch.Probes
	}
	require.NoError(t, json.Unmarshal(vars[t.Name()], &shown))
	require.Len(t, shown, 2)
	got := shown[name]
	require.Equal(t, b.Snapshot(), got.Snapshot)
	require.WithinDuration(t, time.Now(), got.Changed, time.Minute)
	require.NotNil(t, got.LastOutcome)
	require.Equal(t, []breakerwatch.TransitionCount{
		{To: atomicbreaker.StateOpen, Reason: atomicbreaker.ReasonStreak, Count: 1},
		{From: atomicbreaker.StateOpen, To: atomicbreaker.StateHalfOpen, Reason: atomicbreaker.ReasonCooldown, Count: 1},
	}, got.Transitions)
	require.EqualValues(t, 1, got.Probes.Succeeded)
	require.Equal(t, 2*time.Millisecond, got.Probes.Sum)
	require.Nil(t, shown["calm"].LastOutcome)
	require.Nil(t, shown["calm"].Probes)
}

// TestFieldPublishingTwice gives an error value where expvar panics.
//
// Field: S124, hashicorp/go-metrics#78 (2018-05-25); hyperledger-firefly/firefly#389
// (2022-01-06); prometheus/client_golang#674.
func TestFieldPublishingTwice(t *testing.T) {
	var watch breakerwatch.Watch
	require.NoError(t, Publish("twice", &watch))
	require.ErrorContains(t, Publish("twice", &watch), `something is published as "twice" already`)
	expvar.NewInt("other")
	require.Error(t, Publish("other", &watch))
	require.ErrorContains(t, Publish("third", nil), "nil Watch")
	require.Equal(t, "{}", Var(&watch).String())
}

func ExampleVar() {
	var watch breakerwatch.Watch
	_ = watch.Add(atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"}))
	var shown map[string]struct{ State string }
	_ = json.Unmarshal([]byte(Var(&watch).String()), &shown)
	fmt.Println(shown["inventory"].State)
	// Output: closed
}
