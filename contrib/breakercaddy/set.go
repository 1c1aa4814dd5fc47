package breakercaddy

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
)

// sets are the sets of breakers in use. A reload provisions the new
// configuration before it cleans up the old one, so that a set that both
// have stays.
var sets = caddy.NewUsagePool()

// setKey tells sets apart.
type setKey struct{ kind, name, settings string }

// set is the breakers of one setKey, by upstream address.
type set struct {
	breakers *atomicbreaker.Group[string]
	past     *atomicbreaker.Group[string] // count what goes past the breakers
	hide     func()                       // from watch
}

// Destruct is for the pool.
func (s *set) Destruct() error {
	s.hide()
	return nil
}

// watch sees all breakers, for the admin API, the metrics and the page.
var watch breakerwatch.Watch

// named remembers, for each named set, which configuration has it with which
// settings.
var named = struct {
	sync.Mutex
	by map[string]claimed
}{by: map[string]claimed{}}

type claimed struct {
	app      caddy.Module // the http app of the configuration, one per load
	settings string
	set      *set
}

// openSet returns the set for some settings, and its key, to be given to
// closeSet.
func openSet(ctx caddy.Context, kind string, s *Settings) (*set, setKey, error) {
	config, err := s.config()
	if err != nil {
		return nil, setKey{}, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, setKey{}, err
	}
	key := setKey{kind, s.Name, string(text)}
	config.Config.OnTransition = logTransition
	config.Config = watch.Config(config.Config)
	var before *set
	if s.Name != "" {
		named.Lock()
		defer named.Unlock()
		was, ok := named.by[kind+" "+s.Name]
		if ok && was.settings != key.settings {
			if app := appOf(ctx); app != nil && was.app == app {
				return nil, setKey{}, fmt.Errorf("breakercaddy: two handlers name their breakers %q with different settings: give them the same settings, or other names", s.Name)
			}
			before = was.set
		}
	}
	value, _, err := sets.LoadOrNew(key, func() (caddy.Destructor, error) {
		breakers, err := atomicbreaker.NewGroup(config)
		if err != nil {
			return nil, err
		}
		pastConfig := config
		pastConfig.Config = maxopen.Of(config.Config)
		past, err := atomicbreaker.NewGroup(pastConfig)
		if err != nil {
			return nil, err
		}
		if before != nil {
			inherit(breakers, before.breakers)
		}
		return &set{breakers, past, watch.AddAll(breakerwatch.Values(breakers.All()))}, nil
	})
	if err != nil {
		return nil, setKey{}, err
	}
	opened := value.(*set)
	if s.Name != "" {
		named.by[kind+" "+s.Name] = claimed{appOf(ctx), key.settings, opened}
	}
	return opened, key, nil
}

// inherit opens those breakers that were not closed under other settings. A
// breaker's settings never change, and the outage does not end with them.
func inherit(breakers, before *atomicbreaker.Group[string]) {
	for addr, b := range before.All() {
		if s := b.Snapshot(); s.State != atomicbreaker.StateClosed && s.Mode != atomicbreaker.ForcedOpen {
			breakers.Get(addr).Trip()
		}
	}
}

// closeSet gives a set back.
func closeSet(key setKey) error {
	if key == (setKey{}) {
		return nil // not provisioned
	}
	deleted, err := sets.Delete(key)
	if deleted && key.name != "" {
		named.Lock()
		defer named.Unlock()
		if id := key.kind + " " + key.name; named.by[id].settings == key.settings {
			delete(named.by, id)
		}
	}
	return err
}

// appOf returns the http app that is being provisioned.
func appOf(ctx caddy.Context) caddy.Module {
	for _, m := range ctx.Modules() {
		if app, ok := m.(*caddyhttp.App); ok {
			return app
		}
	}
	return nil
}

// logTransition logs by the process's logger, not by that of a module: a
// breaker outlives the configuration that made it.
func logTransition(t atomicbreaker.Transition) {
	caddy.Log().Named("http.reverse_proxy.atomicbreaker").Info("circuit breaker",
		zap.String("name", t.Name),
		zap.Stringer("from", t.From),
		zap.Stringer("to", t.To),
		zap.Stringer("reason", t.Reason),
		zap.Uint64("calls", t.Counts.Calls),
		zap.Uint64("failures", t.Counts.Failures),
	)
}
