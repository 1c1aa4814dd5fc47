package breakerpage

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// A page of another site can make its own name resolve to this server's
// address. The browser then takes that page and this one for the same origin,
// and shows its own name in the Host header: that is how the trick is told.

// hostOf is the name or address in a Host header, without the port, in lower
// case.
func hostOf(header string) string {
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// local reports whether a host cannot be the name of another site: an address,
// for which nobody is asked, or localhost.
func local(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkHost returns why a request for that host is refused.
func (p *Page) checkHost(r *http.Request) error {
	host := hostOf(r.Host)
	if local(host) || p.hosts[host] || p.hosts == nil && r.Method != http.MethodPost {
		return nil
	}
	return fmt.Errorf("the host %.100q is not one of this page: see Options.Hosts", host)
}

// hostFault is what is wrong with an entry of Options.Hosts.
func hostFault(host string) string {
	switch {
	case host == "":
		return "is empty"
	case len(host) > 253:
		return "is longer than 253 bytes"
	case strings.ContainsAny(host, "/:*@[] \t"):
		return "must be a name alone, without scheme, port, path or wildcard"
	}
	return ""
}

// hostSet is the hosts as they are compared, or nil if there are none.
func hostSet(hosts []string) map[string]bool {
	if len(hosts) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, host := range hosts {
		set[hostOf(host)] = true
	}
	return set
}
