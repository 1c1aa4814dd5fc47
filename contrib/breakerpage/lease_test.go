package breakerpage

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/stretchr/testify/require"
)

// lease refuses until it fails.
type lease struct{ fails atomic.Bool }

func (l *lease) Ask(context.Context, breakerlease.Question) (breakerlease.Answer, error) {
	if l.fails.Load() {
		return breakerlease.Answer{}, errors.New("the store is down")
	}
	return breakerlease.Answer{Wait: time.Second, Holder: "node-7"}, nil
}

func (l *lease) Tell(context.Context, breakerlease.News) error { return nil }
func (l *lease) Members() int                                  { return 3 }
func (l *lease) Go(f func())                                   { f() }

// TestALeaseIsOnThePage: since when a breaker waits, who holds the lease, how
// many take part, and that a breaker goes alone.
func TestALeaseIsOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		defer r.page.Close()
		l := new(lease)
		c, err := breakerlease.Join(atomicbreaker.Config{
			Name: "b", Cooldown: atomicbreaker.Cooldown{Min: 10 * time.Second, Max: 10 * time.Second, Jitter: atomicbreaker.Off},
		}, l, breakerlease.Options{})
		require.NoError(t, err)
		b := atomicbreaker.MustNew(r.Config(c))
		require.NoError(t, r.Add(b))
		b.Trip()
		m := r.next()
		require.Zero(t, m.Rows[0][atWaiting])
		time.Sleep(13 * time.Second)
		over := time.Now().Add(-3 * time.Second).UnixMilli()
		row := r.next().Rows[0]
		require.InDelta(t, over, row[atWaiting], 100)
		require.EqualValues(t, 3, row[atMembers])
		time.Sleep(time.Second)
		for _, changed := range r.next().Rows {
			require.Equal(t, row[atWaiting], changed[atWaiting], "the instant trembles")
		}
		detail := r.get("?breaker=b").Body.String()
		require.Contains(t, detail, `"holder": "node-7"`)
		l.fails.Store(true)
		time.Sleep(5 * time.Second)
		row = r.next().Rows[0]
		require.EqualValues(t, atomicbreaker.StateHalfOpen, row[atState])
		require.EqualValues(t, 1, row[atAlone])
		require.Zero(t, row[atWaiting])
		require.True(t, strings.Contains(r.get("?breaker=b").Body.String(), "the store is down"))
	})
}
