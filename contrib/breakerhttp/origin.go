package breakerhttp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Origin is whom a request goes to: the key of a breaker per host. Make it
// with [OriginOf], which writes each origin in one way: scheme and host in lower case, no
// dot at the host's end, an IP address in its shortest form without brackets, the port always there, and
// neither user nor password. An internationalised name is taken as it is
// spelled; its two spellings are two origins.
type Origin struct{ Scheme, Host, Port string }

// OriginOf returns the origin of a URL. It allocates nothing for a URL that
// is spelled the usual way.
func OriginOf(u *url.URL) Origin {
	o := Origin{Scheme: strings.ToLower(u.Scheme), Host: u.Hostname(), Port: u.Port()}
	if o.Port == "" {
		switch o.Scheme {
		case "http", "ws":
			o.Port = "80"
		case "https", "wss":
			o.Port = "443"
		}
	}
	if strings.Contains(o.Host, ":") {
		o.Host = shortestAddr(o.Host)
	} else {
		o.Host = strings.TrimSuffix(strings.ToLower(o.Host), ".")
	}
	return o
}

func shortestAddr(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return strings.ToLower(host)
	}
	var buf [64]byte
	if short := addr.AppendTo(buf[:0]); string(short) != host {
		return string(short)
	}
	return host
}

// String returns the origin as a URL, such as https://example.com:443.
func (o Origin) String() string { return o.Scheme + "://" + net.JoinHostPort(o.Host, o.Port) }

// PerHost is for [Transport].BreakerFor: each origin has a breaker of its own
// out of g, redirect hops included. Idle ones make room as [atomicbreaker.Group]
// says.
func PerHost(g *atomicbreaker.Group[Origin]) func(*http.Request) *atomicbreaker.Breaker {
	return func(r *http.Request) *atomicbreaker.Breaker { return g.Get(OriginOf(r.URL)) }
}
