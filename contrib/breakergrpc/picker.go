package breakergrpc

import (
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Pick is called by gRPC for every try of an RPC.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	t := &try{classify: p.classify}
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
	t.inner = result.Done
	result.Done = t.done
	return result, nil
}

// claim chooses a backend and takes its ticket. Another caller may take the
// last place between question and claim; each round of the loop means that one did.
func (p *picker) claim(t *try) (*pickable, error) {
	turn := p.turn.Add(1)
	var err error
	for range len(p.backends) {
		b, ready := p.choose(turn)
		if !ready && slices.ContainsFunc(p.coming, (*atomicbreaker.Breaker).Ready) {
			// gRPC asks again when the connection is there, or is not to be had.
			return nil, balancer.ErrNoSubConnAvailable
		}
		t.ticket, err = b.breaker.Acquire()
		if err == nil {
			return b, nil
		}
		if !ready {
			break
		}
	}
	// A status error ends the RPC whatever it waits for; any other would make
	// one that waits for ready wait until its deadline.
	return nil, refusalOf(err)
}

// choose returns the backend whose turn it is among those that are ready, or
// else the one that will be first, for its refusal.
func (p *picker) choose(turn uint32) (chosen *pickable, ready bool) {
	var n uint32
	for i := range p.backends {
		if p.backends[i].breaker.Ready() {
			n++
		}
	}
	if n > 0 {
		k := turn % n
		for i := range p.backends {
			if b := &p.backends[i]; b.breaker.Ready() {
				chosen = b
				if k == 0 {
					break
				}
				k--
			}
		}
		if chosen != nil {
			return chosen, true
		}
	}
	chosen = &p.backends[0]
	wait := waitFor(chosen.breaker)
	for i := range p.backends {
		if w := waitFor(p.backends[i].breaker); w < wait {
			chosen, wait = &p.backends[i], w
		}
	}
	return chosen, false
}

// waitFor orders breakers that are not ready: half-open, open, forced open.
func waitFor(b *atomicbreaker.Breaker) time.Duration {
	after := b.RetryAfter()
	if after == 0 && b.State() == atomicbreaker.StateOpen {
		return 1<<63 - 1
	}
	return after
}

// try is one try of an RPC on a backend.
type try struct {
	ticket   atomicbreaker.Ticket
	inner    func(balancer.DoneInfo)
	classify func(error) atomicbreaker.Outcome
}

// done is called by gRPC at the end of the try. No error does not mean
// success: gRPC calls it empty for a pick whose connection was lost before
// anything was sent, and taking that for a success would close the breaker of a dead backend.
func (t *try) done(info balancer.DoneInfo) {
	defer t.ticket.Report(atomicbreaker.Failure) // if inner or a method of the error panics
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
	settle(&t.ticket, info.Err, t.classify)
}
