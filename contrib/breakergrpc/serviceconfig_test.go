package breakergrpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc/codes"
)

// update gives the connection a new answer of the resolver, with a service
// config whose policy has these settings.
func (b *balanced) update(t *testing.T, settings string) {
	t.Helper()
	s := b.endpoints(b.backends...)
	s.ServiceConfig = b.resolver.CC().ParseServiceConfig(`{"loadBalancingConfig":[{"` + b.policy.Name() + `":` + settings + `}]}`)
	if s.ServiceConfig.Err != nil {
		t.Fatal(s.ServiceConfig.Err)
	}
	b.resolver.UpdateState(s)
}

// TestServiceConfigSetsBreakers: a service config changes the settings while
// the connection is in use, and an outage does not end with that.
func TestServiceConfigSetsBreakers(t *testing.T) {
	b := newBalancedBy(t, 3, breakergrpc.PolicyConfig{})
	b.breaker(b.backends[2]).Trip()
	b.update(t, `{"consecutiveFailures":2,"cooldownMin":"3s","maxOpen":1}`)
	mine := func(i int) (found *atomicbreaker.Breaker) {
		for k, other := range b.policy.All() {
			if k.Address == b.backends[i].addr && other != b.breaker(b.backends[i]) {
				found = other
			}
		}
		return found
	}
	b.backends[0].fail(codes.Internal)
	for deadline := time.Now().Add(5 * time.Second); mine(0) == nil || mine(0).State() != atomicbreaker.StateOpen; {
		call(t, b)
		if time.Now().After(deadline) {
			t.Fatal("the breaker of the service config did not open")
		}
	}
	if n := mine(0).Snapshot().Failed; n != 2 {
		t.Errorf("opened after %d failures, want the service config's 2", n)
	}
	if after := mine(0).RetryAfter(); after <= 2*time.Second || after > 3*time.Second {
		t.Errorf("cooldown %v, want 3s", after)
	}
	if s := mine(2).State(); s != atomicbreaker.StateOpen {
		t.Errorf("%v, want the outage to go on under the new settings", s)
	}
	if s := b.resolver.CC().ParseServiceConfig(`{"loadBalancingConfig":[{"` + b.policy.Name() + `":{"buckets":0}}]}`); s.Err == nil || !strings.Contains(s.Err.Error(), "buckets is 0") {
		t.Errorf("a zero: %v, want it refused", s.Err)
	}
}

// TestWeightsByAttribute: through a resolver, by gRPC.
func TestWeightsByAttribute(t *testing.T) {
	b := newBalancedBy(t, 2, breakergrpc.PolicyConfig{})
	s := b.endpoints(b.backends...)
	s.Endpoints[1] = breakergrpc.SetWeight(s.Endpoints[1], 3)
	b.resolver.UpdateState(s)
	var counts []int64
	for deadline := time.Now().Add(5 * time.Second); ; {
		counts, _ = b.served(t, 40)
		if counts[0] == 10 && counts[1] == 30 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v, want 10 and 30", counts)
		}
	}
}
