package breakergrpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// child is a picker of one backend, as pick_first has.
type child struct {
	err  error
	done func(balancer.DoneInfo)
}

func (c child) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{Done: c.done}, c.err
}

func pick(t *testing.T, p *picker) balancer.PickResult {
	t.Helper()
	r, err := p.Pick(balancer.PickInfo{Ctx: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDoneTraps are the ways in which gRPC tells how a try ended.
func TestDoneTraps(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		info                                 balancer.DoneInfo
		succeeded, failed, ignored, canceled uint64
	}{
		{"never sent: no error, nothing sent, nothing received", balancer.DoneInfo{}, 0, 0, 0, 1},
		{"never sent, connection lost", balancer.DoneInfo{Err: status.Error(codes.Unavailable, "")}, 0, 0, 0, 1},
		{"never sent, no stream to be had until the deadline", balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, "")}, 0, 1, 0, 0},
		{"never sent, caller left", balancer.DoneInfo{Err: status.Error(codes.Canceled, "")}, 0, 0, 0, 1},
		{"answered", balancer.DoneInfo{BytesSent: true, BytesReceived: true}, 1, 0, 0, 0},
		{"stream cancelled", balancer.DoneInfo{Err: status.Error(codes.Canceled, ""), BytesSent: true}, 0, 0, 1, 0},
		{"server killed", balancer.DoneInfo{Err: status.Error(codes.Unavailable, ""), BytesSent: true}, 0, 1, 0, 0},
		{"answered with a failure", balancer.DoneInfo{Err: status.Error(codes.Internal, ""), BytesSent: true, BytesReceived: true}, 0, 1, 0, 0},
	} {
		b := atomicbreaker.MustNew(atomicbreaker.Config{})
		var inner int
		p := &picker{backends: []pickable{{child{done: func(balancer.DoneInfo) { inner++ }}, b}}}
		r := pick(t, p)
		r.Done(c.info)
		r.Done(c.info) // settles once
		s := b.Snapshot()
		if s.Succeeded != c.succeeded || s.Failed != c.failed || s.Ignored != c.ignored || s.Cancelled != c.canceled {
			t.Errorf("%s: %d succeeded, %d failed, %d ignored, %d cancelled", c.name, s.Succeeded, s.Failed, s.Ignored, s.Cancelled)
		}
		if inner != 2 {
			t.Errorf("%s: the child's Done was called %d times, want each time", c.name, inner)
		}
	}
}

// TestDeadBackendDoesNotCloseItsBreaker: picks that were never sent take and
// give back the probe's place.
func TestDeadBackendDoesNotCloseItsBreaker(t *testing.T) {
	m := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: m, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}})
	b.Trip()
	m.Advance(500 * time.Millisecond)
	p := &picker{backends: []pickable{{child{}, b}}}
	for range 100 {
		pick(t, p).Done(balancer.DoneInfo{})
		m.Advance(100 * time.Millisecond)
	}
	if s := b.Snapshot(); s.State != atomicbreaker.StateHalfOpen || s.ProbesInFlight != 0 || s.Cancelled != 100 {
		t.Errorf("%v, %d in flight, %d cancelled; want half-open, 0, 100", s.State, s.ProbesInFlight, s.Cancelled)
	}
}

func TestChildThatCannotPickGivesTheClaimBack(t *testing.T) {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	p := &picker{backends: []pickable{{child{err: balancer.ErrNoSubConnAvailable}, b}}}
	if _, err := p.Pick(balancer.PickInfo{}); err != balancer.ErrNoSubConnAvailable {
		t.Errorf("got %v, want the child's error", err)
	}
	if s := b.Snapshot(); s.Cancelled != 1 {
		t.Errorf("%d cancelled, want 1", s.Cancelled)
	}
}

// TestLastPlaceTakenInTheRace: the claim goes on to a backend that has one.
func TestLastPlaceTakenInTheRace(t *testing.T) {
	m := new(clock.Manual)
	half := func() *atomicbreaker.Breaker {
		b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: m, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}})
		b.Trip()
		return b
	}
	a, b := half(), half()
	m.Advance(500 * time.Millisecond)
	p := &picker{backends: []pickable{{child{}, a}, {child{}, b}}}
	pick(t, p)
	pick(t, p)
	if _, err := p.Pick(balancer.PickInfo{}); !errors.Is(err, atomicbreaker.ErrProbeLimit) || status.Code(err) != codes.Unavailable {
		t.Errorf("third pick of two probes: %v", err)
	}
	if a.Snapshot().ProbesInFlight != 1 || b.Snapshot().ProbesInFlight != 1 {
		t.Error("the probes did not go one to each")
	}
}

func TestRefusalComesFromWhoIsReadyFirst(t *testing.T) {
	m := new(clock.Manual)
	open := func(cooldown time.Duration, mode atomicbreaker.Mode) pickable {
		b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: m, Mode: mode, Cooldown: atomicbreaker.Cooldown{Min: cooldown, Max: time.Minute, Jitter: atomicbreaker.Off}})
		b.Trip()
		return pickable{child{}, b}
	}
	p := &picker{backends: []pickable{open(time.Second, atomicbreaker.ForcedOpen), open(9*time.Second, 0), open(3*time.Second, 0)}}
	_, err := p.Pick(balancer.PickInfo{})
	refusal, ok := errors.AsType[*atomicbreaker.RejectedError](err)
	if !ok || refusal.RetryAfter() != 3*time.Second {
		t.Errorf("got %v, want the refusal of the one that is ready in 3 s", err)
	}
}

// TestWaitsForAConnectionToComeOnlyIfItMayBeUsed: right after the start a
// backend that fails may be the only one that is connected yet.
func TestWaitsForAConnectionToComeOnlyIfItMayBeUsed(t *testing.T) {
	open := atomicbreaker.MustNew(atomicbreaker.Config{})
	open.Trip()
	coming := atomicbreaker.MustNew(atomicbreaker.Config{})
	p := &picker{backends: []pickable{{child{}, open}}, coming: []*atomicbreaker.Breaker{coming}}
	if _, err := p.Pick(balancer.PickInfo{}); err != balancer.ErrNoSubConnAvailable || open.Snapshot().Refused() != 0 {
		t.Errorf("got %v with a backend to come, want to wait", err)
	}
	coming.Trip()
	if _, err := p.Pick(balancer.PickInfo{}); !atomicbreaker.IsRejected(err) {
		t.Errorf("got %v with an open backend to come, want a refusal", err)
	}
}

// BenchmarkPick is a pick among three backends and its end.
func BenchmarkPick(b *testing.B) {
	p := &picker{}
	for range 3 {
		p.backends = append(p.backends, pickable{child{}, atomicbreaker.MustNew(atomicbreaker.Config{})})
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := p.Pick(balancer.PickInfo{})
		if err != nil {
			b.Fatal(err)
		}
		r.Done(balancer.DoneInfo{BytesSent: true, BytesReceived: true})
	}
}
