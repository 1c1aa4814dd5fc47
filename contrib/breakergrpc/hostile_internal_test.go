package breakergrpc

import (
	"context"
	"net"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
)

type hollowContext struct{ context.Context }

func (hollowContext) Err() error { panic("context") }

type hollowPicker struct{}

func (hollowPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) { panic("picker") }

// TestPanicWhileJudgingLosesNoTicket: a method of the user's that panics while
// an RPC is judged makes a Failure, and a pick that came to nothing gives its
// place back.
func TestPanicWhileJudgingLosesNoTicket(t *testing.T) {
	typedNil := error((*net.OpError)(nil))
	for name, c := range map[string]struct {
		call   func(b *atomicbreaker.Breaker)
		failed uint64
	}{
		"error of a unary RPC": {func(b *atomicbreaker.Breaker) {
			_ = (&Guard{Breaker: b}).UnaryClient(context.Background(), "/s/m", nil, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return typedNil })
		}, 1},
		"error at the end of a stream": {func(b *atomicbreaker.Breaker) {
			ticket, _ := b.Acquire()
			(&Guard{Breaker: b}).settle(context.Background(), &ticket, typedNil)
		}, 1},
		"context at the end of a stream": {func(b *atomicbreaker.Breaker) {
			ticket, _ := b.Acquire()
			(&Guard{Breaker: b}).settle(hollowContext{}, &ticket, context.Canceled)
		}, 1},
		"error of a try": {func(b *atomicbreaker.Breaker) {
			p := &picker{backends: []pickable{{child{}, b}}}
			pick(t, p).Done(balancer.DoneInfo{BytesSent: true, Err: typedNil})
		}, 1},
		"child's Done": {func(b *atomicbreaker.Breaker) {
			p := &picker{backends: []pickable{{child{done: func(balancer.DoneInfo) { panic("done") }}, b}}}
			pick(t, p).Done(balancer.DoneInfo{BytesSent: true})
		}, 1},
		"child's Pick": {func(b *atomicbreaker.Breaker) {
			p := &picker{backends: []pickable{{hollowPicker{}, b}}}
			_, _ = p.Pick(balancer.PickInfo{Ctx: context.Background()})
		}, 0},
	} {
		for _, probe := range []bool{false, true} {
			m := new(clock.Manual)
			b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: m})
			if probe {
				b.Trip()
				m.Advance(b.RetryAfter())
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: the panic did not pass through", name)
					}
				}()
				c.call(b)
			}()
			s := b.Snapshot()
			if s.Failed != c.failed || s.Failed+s.Cancelled != 1 || s.Succeeded+s.Ignored+s.Late != 0 || s.ProbesInFlight != 0 {
				t.Errorf("%s, probe %v: %+v", name, probe, s)
			}
		}
	}
}
