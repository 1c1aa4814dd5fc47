package breakercaddy

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// BenchmarkSelect is the choice among three upstreams by round robin, alone
// and with breakers.
func BenchmarkSelect(b *testing.B) {
	breakers, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{})
	if err != nil {
		b.Fatal(err)
	}
	var pool reverseproxy.UpstreamPool
	p := &Policy{inner: new(reverseproxy.RoundRobinSelection), transport: &Transport{set: &set{breakers: breakers}}, addresses: map[string]string{}, tried: "tried"}
	for _, dial := range []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"} {
		pool = append(pool, &reverseproxy.Upstream{Dial: dial, Host: new(reverseproxy.Host)})
		p.addresses[dial] = addressOfDial(dial)
	}
	w := httptest.NewRecorder()
	vars := map[string]any{}
	r := httptest.NewRequest("GET", "/", nil)
	r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, vars))
	for guard, s := range map[string]reverseproxy.Selector{"none": p.inner, "policy": p} {
		b.Run("net=none/guard="+guard, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				clear(vars)
				if s.Select(pool, r, w) == nil {
					b.Fatal("nothing selected")
				}
			}
		})
	}
}
