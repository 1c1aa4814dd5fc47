package breakergrpc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// PolicyConfig says how a [Policy] makes its breakers and judges RPCs.
type PolicyConfig struct {
	// Breakers is the configuration of the breakers, one per backend. A slow
	// call in it is a try to its end: with streams, a stream's life.
	Breakers atomicbreaker.GroupConfig[Backend]

	// Classify decides what a try's error says about the backend's health, in
	// place of OutcomeOf(status.Code(err)). It is asked for errors only, not
	// for a cancellation, and runs on gRPC's goroutines, concurrently. Default: nil.
	Classify func(err error) atomicbreaker.Outcome
}

// Backend is the key of a backend's breaker: an address of a target.
type Backend struct{ Target, Address string }

// String returns target and address.
func (b Backend) String() string { return b.Target + " " + b.Address }

// Policy is a load balancing policy: round robin over the backends that are
// connected and whose breakers are ready. It asks [atomicbreaker.Breaker.Ready],
// a pure question, and then claims.
//
// If no connected backend is ready, an RPC ends at once with Unavailable, also
// one that waits for ready: an open breaker is an answer, not a connection
// that is still to come. Only while another backend, whose breaker is ready, is being
// connected does it wait for that. There is no limit on how many may be open.
// With no backend connected, gRPC's own rules hold.
//
// The outcome of a try is that of the backend it went to, retries included.
// A pick that was never sent, because the connection was lost in between, is
// cancelled: it says nothing about the backend.
//
// Breakers are kept by target and address, not by connection: they survive
// changes of the resolver's answer, reconnections and idleness, and are shared
// by all connections that use the policy for one target.
//
// gRPC marks its balancer API as experimental. This policy needs package
// endpointsharding with pick_first children, which gRPC's own round_robin is made of.
type Policy struct {
	name     string
	breakers *atomicbreaker.Group[Backend]
	classify func(error) atomicbreaker.Outcome
}

// RegisterPolicy makes a policy and registers it with gRPC under a name, which
// consists of lower-case letters, digits and _ and is not yet taken. Like
// [balancer.Register] it must be called while the program starts, before any
// connection is made.
func RegisterPolicy(name string, c PolicyConfig) (*Policy, error) {
	var faults []error
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		faults = append(faults, fmt.Errorf("breakergrpc: policy name is %q, want lower-case letters, digits and _", name))
	} else if balancer.Get(name) != nil {
		faults = append(faults, fmt.Errorf("breakergrpc: policy name %q is taken, want one that is not registered", name))
	}
	breakers, err := atomicbreaker.NewGroup(c.Breakers)
	faults = append(faults, err)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	p := &Policy{name: name, breakers: breakers, classify: c.Classify}
	balancer.Register(p)
	return p, nil
}

// Breakers returns the breakers, by target and address.
func (p *Policy) Breakers() *atomicbreaker.Group[Backend] { return p.breakers }

// DialOption makes a connection use the policy, unless its resolver brings a
// service config that says otherwise.
func (p *Policy) DialOption() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(p.ServiceConfig())
}

// ServiceConfig is the service config that names the policy, to be merged
// with others.
func (p *Policy) ServiceConfig() string {
	return `{"loadBalancingConfig":[{` + strconv.Quote(p.name) + `:{}}]}`
}

// Name is for gRPC.
func (p *Policy) Name() string { return p.name }

// Build is for gRPC.
func (p *Policy) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	conn := &policyConn{ClientConn: cc, policy: p, target: opts.Target.String()}
	children := balancer.Get(pickfirst.Name).Build
	return &policyBalancer{endpointsharding.NewBalancer(conn, opts, children, endpointsharding.Options{})}
}

type policyBalancer struct{ balancer.Balancer }

// UpdateClientConnState lets the children listen to client-side health checks.
func (b *policyBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	s.ResolverState = pickfirst.EnableHealthListener(s.ResolverState)
	return b.Balancer.UpdateClientConnState(s)
}

// policyConn replaces the picker in what goes up to gRPC.
type policyConn struct {
	balancer.ClientConn
	policy *Policy
	target string
}

func (c *policyConn) UpdateState(s balancer.State) {
	if s.ConnectivityState == connectivity.Ready {
		s.Picker = c.newPicker(endpointsharding.ChildStatesFromPicker(s.Picker))
	}
	c.ClientConn.UpdateState(s)
}

func (c *policyConn) newPicker(children []endpointsharding.ChildState) *picker {
	p := &picker{classify: c.policy.classify}
	for _, child := range children {
		b := c.policy.breakers.Get(Backend{c.target, addressOf(child.Endpoint)})
		switch child.State.ConnectivityState {
		case connectivity.Ready:
			p.backends = append(p.backends, pickable{child.State.Picker, b})
		case connectivity.Connecting, connectivity.Idle: // endpointsharding wakes the idle
			p.coming = append(p.coming, b)
		}
	}
	p.turn.Store(rand.Uint32()) // many clients must not begin with the same backend
	return p
}

// addressOf names an endpoint by the least of its addresses, so that their
// order does not matter.
func addressOf(e resolver.Endpoint) string {
	if len(e.Addresses) == 0 {
		return ""
	}
	least := e.Addresses[0].Addr
	for _, a := range e.Addresses {
		least = min(least, a.Addr)
	}
	return least
}

// picker picks among the backends that are connected.
type picker struct {
	backends []pickable
	coming   []*atomicbreaker.Breaker // of those that are being connected
	classify func(error) atomicbreaker.Outcome
	turn     atomic.Uint32
}

type pickable struct {
	picker  balancer.Picker
	breaker *atomicbreaker.Breaker
}
