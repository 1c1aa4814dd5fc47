package breakergrpc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/overload"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestOverloadedBackendRecoversBehindThePolicy is the same as behind the
// reverse proxy of breakerhttp. The policy asks Ready of every breaker; two
// thirds of the picks go to backends that are never overloaded.
func TestOverloadedBackendRecoversBehindThePolicy(t *testing.T) {
	run := func(c atomicbreaker.Config, asks bool) (r overload.Result) {
		synctest.Test(t, func(t *testing.T) {
			b := atomicbreaker.MustNew(c)
			p := &picker{backends: []pickable{{picker: child{}, breaker: b}}}
			r = overload.Run(1, func(ctx context.Context, dependency func(context.Context) error) (bool, error) {
				if asks && !b.Ready() {
					return true, atomicbreaker.ErrOpen
				}
				pick, err := p.Pick(balancer.PickInfo{Ctx: ctx})
				if err != nil {
					return true, err
				}
				err = dependency(ctx)
				info := balancer.DoneInfo{BytesSent: true, BytesReceived: err == nil}
				switch err.(type) {
				case nil:
				case overload.ErrFull:
					info.Err = status.Error(codes.Internal, err.Error())
				default:
					info.Err = status.FromContextError(err).Err()
				}
				pick.Done(info)
				return false, err
			})
			if s := b.State(); r.Recovered != 0 && s != atomicbreaker.StateClosed {
				t.Errorf("%v at the end, want closed", s)
			}
		})
		return r
	}
	claimed, asked := run(atomicbreaker.Config{}, false), run(atomicbreaker.Config{}, true)
	classic := run(atomicbreaker.Config{
		Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second, Factor: 1},
		Recovery: atomicbreaker.Recovery{Probes: 1},
	}, false)
	t.Logf("refused: %+v", claimed)
	t.Logf("asked:   %+v", asked)
	t.Logf("classic: %+v", classic)
	for _, r := range []overload.Result{claimed, asked} {
		if r.Recovered == 0 || r.Recovered > 20*time.Second || r.Failed > 1040 {
			t.Errorf("recovered after %v with %d failed calls, want within 20s and 1040", r.Recovered, r.Failed)
		}
	}
	if late := asked.Recovered - claimed.Recovered; late > 3*time.Second {
		t.Errorf("callers that ask first cost %v", late)
	}
	if classic.Recovered != 0 {
		t.Error("one probe was enough: the model proves nothing")
	}
}
