package breakerlease_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
	"github.com/stretchr/testify/require"
)

// A command reaches all that accept commands, once, ends in time, and is told of.
func TestCommandsReachTheFleet(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		var log bytes.Buffer
		var told []breakerlease.Command
		o := breakerlease.FleetOptions{Commands: true}
		one := join(t, store, o, atomicbreaker.Config{})
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.OnCommand = func(c breakerlease.Command) { told = append(told, c) }
		other := join(t, store, o, atomicbreaker.Config{})
		deaf := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		after(time.Second)
		c := breakerlease.Command{Name: "x", Action: breakerlease.Trip, By: "ops", Why: "a drill"}
		say := func() {
			t.Helper()
			require.NoError(t, one.fleet.Command(t.Context(), c))
			after(time.Millisecond)
		}
		say()
		require.Equal(t, []atomicbreaker.State{atomicbreaker.StateOpen, atomicbreaker.StateOpen, atomicbreaker.StateClosed},
			[]atomicbreaker.State{one.State(), other.State(), deaf.State()})
		c.Action = breakerlease.Reset
		say()
		require.Equal(t, atomicbreaker.StateClosed, other.State())
		require.Len(t, told, 2)
		require.Equal(t, 2, strings.Count(log.String(), "a command for the fleet"))
		require.Contains(t, log.String(), "by=ops")

		// A mode ends in time, and whoever comes later has it too.
		c.Action, c.For = breakerlease.ForcedOpen, time.Minute
		say()
		late := join(t, store, breakerlease.FleetOptions{Commands: true}, atomicbreaker.Config{})
		after(15 * time.Second)
		for _, m := range []*member{one, other, late} {
			require.Equal(t, atomicbreaker.ForcedOpen, m.Snapshot().Mode)
		}
		require.Len(t, told, 3, "told again, carried out once")
		after(45 * time.Second)
		for _, m := range []*member{one, other, late} {
			require.Equal(t, atomicbreaker.Auto, m.Snapshot().Mode)
		}

		// A later command, and somebody here, overrule it.
		say()
		other.SetMode(atomicbreaker.ForcedClosed)
		c.Action, c.For = breakerlease.Shadow, 2*time.Minute
		late.fleet.Close()
		require.NoError(t, one.fleet.Command(t.Context(), c))
		after(70 * time.Second)
		require.Equal(t, atomicbreaker.Shadow, one.Snapshot().Mode, "the first does not end the second")
		other.SetMode(atomicbreaker.ForcedClosed)
		after(time.Minute)
		require.Equal(t, atomicbreaker.Auto, one.Snapshot().Mode)
		require.Equal(t, atomicbreaker.ForcedClosed, other.Snapshot().Mode)
	})
}

func TestCommandsAreChecked(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		m := join(t, store, breakerlease.FleetOptions{Commands: true}, atomicbreaker.Config{})
		err := m.fleet.Command(t.Context(), breakerlease.Command{Action: "explode"})
		for _, want := range []string{"Name has 0 bytes", `Action is "explode"`, "By has 0 bytes", "Why has 0 bytes"} {
			require.ErrorContains(t, err, want)
		}
		c := breakerlease.Command{Name: "x", Action: breakerlease.Shadow, By: "me", Why: "a trial"}
		require.ErrorContains(t, m.fleet.Command(t.Context(), c), "For is 0s, want 1s to 24h")
		c.Action, c.For = breakerlease.Reset, time.Hour
		require.ErrorContains(t, m.fleet.Command(t.Context(), c), "want 0: it does not last")
		silent := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		c.For = 0
		require.ErrorContains(t, silent.fleet.Command(t.Context(), c), "Commands is false")
		after(time.Second)
		require.NoError(t, store.Publish(t.Context(), "v=2&from=another&kind=command&id=1&name=x&action=trip&for=0s&by=&why=none"))
		after(time.Second)
		require.Equal(t, atomicbreaker.StateClosed, m.State(), "nobody says so")
	})
}
