package breakergrpc

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Pick is called by gRPC for every try of an RPC.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	t := &try{classify: p.classify, ctx: info.Ctx}
	b, err := p.claim(t)
	if err != nil {
		return balancer.PickResult{}, err
	}
	picked := false
	defer func() {
		if !picked { // a panic passes through
			t.ticket.Cancel()
		}
	}()
	result, err := b.picker.Pick(info)
	if err != nil {
		return result, err
	}
	picked = true
	t.inner, t.load = result.Done, b.load
	t.load.add(1)
	result.Done = t.done
	return result, nil
}

// claim chooses a backend and takes its ticket. Another caller may take the
// last place between question and claim; each round of the loop means that one did.
func (p *picker) claim(t *try) (*pickable, error) {
	turn := p.turn.Add(1)
	var err error
	for range len(p.backends) {
		b, way := p.choose(turn)
		if way == refused && slices.ContainsFunc(p.coming, (*atomicbreaker.Breaker).Ready) {
			// gRPC asks again when the connection is there, or is not to be had.
			return nil, balancer.ErrNoSubConnAvailable
		}
		if way == beyond {
			t.ticket, err = b.past.AcquireContext(t.ctx)
		} else {
			t.ticket, err = b.breaker.AcquireContext(t.ctx)
		}
		if err == nil {
			return b, nil
		}
		if way == refused {
			break
		}
	}
	// A status error ends the RPC whatever it waits for; any other would make
	// one that waits for ready wait until its deadline.
	return nil, refusalOf(err)
}

// try is one try of an RPC on a backend.
type try struct {
	ticket   atomicbreaker.Ticket
	inner    func(balancer.DoneInfo)
	load     *load
	ended    atomic.Bool
	classify func(error) atomicbreaker.Outcome
	ctx      context.Context // of the RPC; nil if gRPC tells none
}

// done is called by gRPC at the end of the try. No error does not mean
// success: gRPC calls it empty for a pick whose connection was lost before
// anything was sent, and taking that for a success would close the breaker of a dead backend.
func (t *try) done(info balancer.DoneInfo) {
	defer t.ticket.Report(atomicbreaker.Failure) // if inner or a method of the error panics
	if !t.ended.Swap(true) {
		t.load.add(-1)
	}
	if t.inner != nil {
		t.inner(info)
	}
	sent := info.BytesSent || info.BytesReceived
	// A deadline that passed before the stream could begin is the backend's: it
	// has as many streams under way as it allows, and ends none.
	if !sent && status.Code(info.Err) != codes.DeadlineExceeded {
		t.ticket.Cancel()
		return
	}
	if info.Err != nil && t.ctx != nil && t.ctx.Err() != nil {
		t.ticket.Done(t.ctx, info.Err) // by how long the backend was given
		return
	}
	settle(&t.ticket, info.Err, t.classify)
}
