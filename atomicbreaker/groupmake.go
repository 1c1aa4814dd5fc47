package atomicbreaker

import (
	"fmt"
	"runtime"
	"slices"
)

// configuring is a run of Configure.
type configuring[K comparable] struct {
	key       K
	goroutine uint64
}

// make makes a key's breaker. The fault, if any, is that of a configuration
// in whose place the base configuration was used.
func (g *Group[K]) make(key K) (b *Breaker, fault error) {
	base := g.config.Config
	base.Name = groupName(base.Name, fmt.Sprint(key))
	if g.config.Configure == nil {
		return MustNew(base), nil
	}
	b, fault = New(g.configure(key, base))
	if fault != nil {
		fault = fmt.Errorf("atomicbreaker: Group key %v is misconfigured, using GroupConfig.Config: %w", key, fault)
		g.mu.Lock()
		g.misconfigured++
		g.mu.Unlock()
		b = MustNew(base)
	}
	return b, fault
}

// configure asks Configure, unless it is this very goroutine's Configure for
// the key that asks.
func (g *Group[K]) configure(key K, base Config) Config {
	run := &configuring[K]{key, goroutineID()}
	g.mu.Lock()
	nested := run.goroutine != 0 && slices.ContainsFunc(g.configuring, func(c *configuring[K]) bool { return *c == *run })
	g.configuring = append(g.configuring, run)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		i := slices.Index(g.configuring, run)
		g.configuring = slices.Delete(g.configuring, i, i+1)
	}()
	if nested {
		panic(fmt.Sprintf("atomicbreaker: GroupConfig.Configure for key %v asks the Group for that same key", key))
	}
	return g.config.Configure(key, base)
}

// goroutineID returns a number that no other live goroutine has, or 0. It is
// read off a stack trace, as golang.org/x/net/http2 does in its debug checks;
// it takes microseconds and is used only where a key is configured.
func goroutineID() uint64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	const prefix = "goroutine "
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return 0
	}
	var id uint64
	for _, c := range text[len(prefix):] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}
