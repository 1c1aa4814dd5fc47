package breakerhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Check says how [Pool.Check] asks backends for their health.
type Check struct {
	// Path is asked for by GET, put behind the backend's base URL. It begins
	// with a slash. Default: /.
	Path string

	// Interval is how often each backend is asked, 10 ms to 24 h. Default: 5 s.
	Interval time.Duration

	// Timeout is how long it has to answer, 1 ms to Interval. Default: 2 s,
	// or Interval if that is shorter.
	Timeout time.Duration

	// Fall is how many checks in a row must fail to take a backend out, and
	// Rise how many must succeed to take it back, 1 to 100 each. Defaults: 3, 2.
	Fall, Rise int
}

// Validate reports every fault of the settings, or nil.
func (c Check) Validate() error {
	var faults []error
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerhttp: Check."+format, args...))
	}
	if c.Path != "" && !strings.HasPrefix(c.Path, "/") {
		add("Path is %q, want one that begins with /", c.Path)
	}
	if c.Interval != 0 && (c.Interval < 10*time.Millisecond || c.Interval > 24*time.Hour) {
		add("Interval is %v, want 10ms to 24h", c.Interval)
	}
	if limit := c.withDefaults().Interval; c.Timeout != 0 && (c.Timeout < time.Millisecond || c.Timeout > limit) {
		add("Timeout is %v, want 1ms to Interval, which is %v", c.Timeout, limit)
	}
	if c.Fall < 0 || c.Fall > 100 {
		add("Fall is %d, want 1 to 100", c.Fall)
	}
	if c.Rise < 0 || c.Rise > 100 {
		add("Rise is %d, want 1 to 100", c.Rise)
	}
	return errors.Join(faults...)
}

func (c Check) withDefaults() Check {
	if c.Path == "" {
		c.Path = "/"
	}
	if c.Interval == 0 {
		c.Interval = 5 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = min(2*time.Second, c.Interval)
	}
	if c.Fall == 0 {
		c.Fall = 3
	}
	if c.Rise == 0 {
		c.Rise = 2
	}
	return c
}

// Check asks every member for its health, at once and at every interval, until
// ctx is done, and returns ctx's error or the fault of the settings. An answer
// of 200 to 399 is a success. A member whose checks fail gets no requests,
// unless more members fail than [PoolConfig].MaxOpen allows, or nobody else
// takes requests: checks can be wrong.
//
// Checks never count as traffic: no breaker, figure or budget sees them.
func (p *Pool) Check(ctx context.Context, c Check) error {
	if err := c.Validate(); err != nil {
		return err
	}
	c = c.withDefaults()
	runs := map[*Backend]int{} // failures in a row, or successes as a negative number
	defer func() {
		for b := range runs {
			b.down.Store(false)
		}
	}()
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	for {
		members := *p.members.Load()
		ok := make([]bool, len(members))
		var all sync.WaitGroup
		for i, b := range members {
			all.Go(func() { ok[i] = b.healthy(ctx, c) })
		}
		all.Wait()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := make(map[*Backend]int, len(members))
		for i, b := range members {
			now[b] = c.judge(b, runs[b], ok[i])
		}
		runs = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// judge counts a check and returns the run that it ends or goes on.
func (c Check) judge(b *Backend, run int, ok bool) int {
	if ok {
		if run = min(run, 0) - 1; run <= -c.Rise {
			b.down.Store(false)
		}
		return max(run, -c.Rise)
	}
	if run = max(run, 0) + 1; run >= c.Fall {
		b.down.Store(true)
	}
	return min(run, c.Fall)
}

// healthy makes one check, past breaker and counts.
func (b *Backend) healthy(ctx context.Context, c Check) bool {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	path, query, _ := strings.Cut(c.Path, "?")
	u := b.url.JoinPath(path)
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, "GET", u.String(), nil)
	if err != nil {
		return false
	}
	if b.host != "" {
		req.Host = b.host
	}
	resp, err := b.send.base.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}
