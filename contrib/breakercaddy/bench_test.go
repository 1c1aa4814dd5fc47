package breakercaddy_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
)

// BenchmarkProxy compares a request through Caddy to one of three upstreams
// with each module and without.
func BenchmarkProxy(b *testing.B) {
	var addrs []any
	for range 3 {
		u := &upstream{addr: "127.0.0.1:0"}
		u.status.Store(200)
		u.start(b)
		defer u.kill()
		addrs = append(addrs, u.addr)
	}
	for _, c := range []struct{ guard, options string }{
		{"none", "lb_policy round_robin"},
		{"transport", "lb_policy round_robin\ntransport atomicbreaker"},
		{"both", "lb_policy atomicbreaker round_robin\ntransport atomicbreaker"},
	} {
		b.Run("guard="+c.guard, func(b *testing.B) {
			text := fmt.Sprintf("{\nadmin off\nauto_https off\npersist_config off\nlog {\nlevel PANIC\n}\n}\nhttp://%s {\nreverse_proxy %s {\n%s\n}\n}\n",
				front, fmt.Sprintf("%s %s %s", addrs...), c.options)
			config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := caddy.Load(config, true); err != nil {
				b.Fatal(err)
			}
			defer caddy.Stop()
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				resp, err := client.Get("http://" + front)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
