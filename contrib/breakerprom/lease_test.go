package breakerprom

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// lease refuses once and then fails.
type lease struct{ asked int }

func (l *lease) Ask(context.Context, breakerlease.Question) (breakerlease.Answer, error) {
	if l.asked++; l.asked == 1 {
		return breakerlease.Answer{Wait: time.Second, Holder: "node-7"}, nil
	}
	return breakerlease.Answer{}, errors.New("the store is down")
}

func (l *lease) Tell(context.Context, breakerlease.News) error { return nil }
func (l *lease) Members() int                                  { return 3 }
func (l *lease) Go(f func())                                   { f() }

// TestLeaseIsToldOfOnceItHasAnswered: who probes by leave, who waits, and
// whether the store fails, which no state shows.
func TestLeaseIsToldOfOnceItHasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		c, err := breakerlease.Join(config("b"), new(lease), breakerlease.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := s.made(c)
		const refused, failed, alone = `circuitbreaker_lease_answers_total{answer="refused",name="b"}`, `circuitbreaker_lease_answers_total{answer="failed",name="b"}`, `circuitbreaker_lease_alone{name="b"}`
		if _, there := s.values()[refused]; there {
			t.Error("told of before the first answer")
		}
		b.Trip()
		time.Sleep(cooldown + time.Millisecond)
		if v := s.values(); v[refused] != 1 || v[failed] != 0 || v[alone] != 0 || v[`circuitbreaker_lease_waiting_seconds{name="b"}`] <= 0 || v[`circuitbreaker_lease_holder{holder="node-7",name="b"}`] != 1 || v[`circuitbreaker_lease_members{name="b"}`] != 3 || b.State() != atomicbreaker.StateOpen {
			t.Error("refused: ", b.State(), v)
		}
		time.Sleep(2 * time.Second)
		if v := s.values(); v[refused] != 1 || v[failed] != 1 || v[alone] != 1 || b.State() != atomicbreaker.StateHalfOpen {
			t.Error("failed: ", b.State(), v)
		}
	})
}
