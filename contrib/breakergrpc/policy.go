package breakergrpc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
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
	// call in it is a try to its end: with streams, a stream's life. Default of
	// ConsecutiveFailures: 6, as another backend can take over.
	Breakers atomicbreaker.GroupConfig[Backend]

	// Classify decides what a try's error says about the backend's health, in
	// place of OutcomeOf(status.Code(err)). It is asked for errors only, not
	// for a cancellation, and runs on gRPC's goroutines, concurrently. Default: nil.
	Classify func(err error) atomicbreaker.Outcome

	// Choice is how a backend is chosen. Default: RoundRobin.
	Choice Choice

	// MaxOpen is the largest share of backends whose breakers may refuse at
	// once, above 0 to 1; it allows at least one. Of those beyond it the least
	// sick go on, each as long as it serves at least one in five of what it
	// gets; their breakers neither see that nor are changed by it. A breaker that an
	// operator holds open stays open. At 1 all may refuse. Default: 0.5.
	MaxOpen float64
}

// Choice is how a [Policy] chooses among the backends that take RPCs.
type Choice int

const (
	RoundRobin Choice = iota // each in turn

	// LeastRequest takes the one with fewer tries under way, streams to their
	// end, of two that it draws at random.
	LeastRequest
)

// Backend is the key of a backend's breaker: an address of a target.
type Backend struct{ Target, Address string }

// String returns target and address.
func (b Backend) String() string { return b.Target + " " + b.Address }

// Policy is a load balancing policy: round robin, or least request, over the
// backends that are connected and whose breakers are ready. It asks [atomicbreaker.Breaker.Ready],
// a pure question, and then claims.
//
// If no connected backend is ready, an RPC ends at once with Unavailable, also
// one that waits for ready: an open breaker is an answer, not a connection
// that is still to come. Only while another backend, whose breaker is ready, is being
// connected does it wait for that. See [PolicyConfig].MaxOpen for how many may refuse.
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
//
// A service config may change settings for the connections that use it: see
// [Policy.ParseConfig].
type Policy struct {
	name     string
	base     *settings
	config   PolicyConfig
	classify func(error) atomicbreaker.Outcome

	mu     sync.Mutex
	others map[string]*settings // by what a service config says
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
	base, err := newSettings(c)
	faults = append(faults, err)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	p := &Policy{name: name, base: base, config: c, classify: c.Classify, others: map[string]*settings{}}
	balancer.Register(p)
	return p, nil
}

// Breakers returns the breakers, by target and address, of connections whose
// service config changes none of their settings; [Policy.All] returns all.
func (p *Policy) Breakers() *atomicbreaker.Group[Backend] { return p.base.breakers }

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
	conn := &policyConn{ClientConn: cc, policy: p, target: opts.Target.String(), settings: p.base, loads: map[string]*load{}}
	children := balancer.Get(pickfirst.Name).Build
	return &policyBalancer{endpointsharding.NewBalancer(conn, opts, children, endpointsharding.Options{}), conn}
}

type policyBalancer struct {
	balancer.Balancer
	conn *policyConn
}

// UpdateClientConnState takes over the service config's settings and lets the
// children, who are not concerned by them, listen to client-side health checks.
func (b *policyBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	if c, ok := s.BalancerConfig.(*lbConfig); ok {
		b.conn.use(c.settings)
	}
	s.BalancerConfig = nil
	b.conn.weigh(s.ResolverState.Endpoints)
	s.ResolverState = pickfirst.EnableHealthListener(s.ResolverState)
	return b.Balancer.UpdateClientConnState(s)
}

// policyConn replaces the picker in what goes up to gRPC.
type policyConn struct {
	balancer.ClientConn
	policy *Policy
	target string

	mu       sync.Mutex
	settings *settings
	weights  map[string]float64
	loads    map[string]*load
}

// use changes the settings. An outage does not end with them.
func (c *policyConn) use(s *settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settings.breakers != s.breakers {
		for k, b := range c.settings.breakers.All() {
			if k.Target == c.target && b.State() != atomicbreaker.StateClosed && !maxopen.HeldOpen(b) {
				s.breakers.Get(k).Trip()
			}
		}
	}
	c.settings = s
}

// weigh notes the weights and forgets the loads of backends that have gone.
func (c *policyConn) weigh(endpoints []resolver.Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.weights = make(map[string]float64, len(endpoints))
	for _, e := range endpoints {
		c.weights[addressOf(e)] = weightOf(e)
	}
	maps.DeleteFunc(c.loads, func(addr string, _ *load) bool { _, there := c.weights[addr]; return !there })
}

func (c *policyConn) UpdateState(s balancer.State) {
	if s.ConnectivityState == connectivity.Ready {
		s.Picker = c.newPicker(endpointsharding.ChildStatesFromPicker(s.Picker))
	}
	c.ClientConn.UpdateState(s)
}

func (c *policyConn) newPicker(children []endpointsharding.ChildState) *picker {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &picker{classify: c.policy.classify, choice: c.settings.choice, maxOpen: c.settings.maxOpen}
	for _, child := range children {
		addr := addressOf(child.Endpoint)
		key := Backend{c.target, addr}
		b := c.settings.breakers.Get(key)
		switch child.State.ConnectivityState {
		case connectivity.Ready:
			l := c.loads[addr]
			if l == nil {
				l = new(load)
				c.loads[addr] = l
			}
			weight := cmp.Or(c.weights[addr], 1)
			p.weighted = p.weighted || weight != 1
			p.backends = append(p.backends, pickable{picker: child.State.Picker, breaker: b, past: c.settings.past.Get(key), load: l, weight: weight})
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
