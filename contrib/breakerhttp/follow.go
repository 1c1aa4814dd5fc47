package breakerhttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// DNS finds the members of a [Pool] behind a name: one for each of its
// addresses.
//
//	dns := breakerhttp.DNS{URL: "http://billing.internal:8080"}
//	members, err := dns.Members(ctx)
//	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Members: members})
//	go pool.Follow(ctx, dns)
type DNS struct {
	// URL is a base URL with the name as its host, as in [PoolConfig].Backends.
	// The Host header and, with the default transport, the name in the
	// certificate stay those of the URL.
	URL string

	// Interval is how long to wait between two lookups, 100 ms to 24 h. The
	// Go resolver does not tell a record's time to live. Default: 30 s.
	Interval time.Duration

	// Lookup asks for the addresses. Default: net.DefaultResolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	// OnError gets a lookup that failed or found nothing; the members
	// then stay as they are. Default: nil.
	OnError func(error)
}

// Validate reports every fault of the settings, or nil.
func (d DNS) Validate() error {
	faults := memberFaults("DNS.URL", []Member{{URL: d.URL}})
	if d.Interval != 0 && (d.Interval < 100*time.Millisecond || d.Interval > 24*time.Hour) {
		faults = append(faults, fmt.Errorf("breakerhttp: DNS.Interval is %v, want 100ms to 24h", d.Interval))
	}
	return errors.Join(faults...)
}

// Members looks the name up, for at most 10 s, and returns a member for each
// address, sorted.
func (d DNS) Members(ctx context.Context) ([]Member, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lookup := d.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := lookup(ctx, u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("breakerhttp: looking up %s: %w", u.Hostname(), err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("breakerhttp: looking up %s: no address", u.Hostname())
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	members := make([]Member, len(addrs))
	port := OriginOf(u).Port
	for i, a := range addrs {
		at := *u
		at.Host = net.JoinHostPort(a.String(), port)
		members[i] = Member{URL: at.String(), Host: u.Host}
	}
	return members, nil
}

// Follow sets the pool's members by what the name resolves to, now and at
// every interval, until ctx is done, and returns why: the fault of the
// settings or of the members, or ctx's error. A lookup that fails changes
// nothing.
func (p *Pool) Follow(ctx context.Context, d DNS) error {
	if err := d.Validate(); err != nil {
		return err
	}
	interval := d.Interval
	if interval == 0 {
		interval = 30 * time.Second
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		members, err := d.Members(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d.OnError != nil:
			d.OnError(err)
		case err == nil:
			if err := p.Set(members...); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
