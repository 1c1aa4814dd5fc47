package atomicbreaker

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
	"weak"

	"github.com/atomicbreaker/breaker/clock"
)

// newTestGroup makes a group on a clock that stands still.
func newTestGroup[K comparable](t *testing.T, c GroupConfig[K]) (*Group[K], *clock.Manual) {
	t.Helper()
	m := new(clock.Manual)
	c.Config.Clock = m
	c.Config.Cooldown.Jitter = Off
	g, err := NewGroup(c)
	if err != nil {
		t.Fatal(err)
	}
	return g, m
}

// call makes one call through a breaker.
func call1(b *Breaker, o Outcome) bool {
	ticket, err := b.Acquire()
	return err == nil && ticket.Report(o)
}

func (g *Group[K]) has(key K) bool { return g.table.Load().find(g.hasher.hash(key), key) != nil }

// However many ask for a key at once, all get the same breaker, and no other is
// kept.
//
// Field: S145, zeromicro/go-zero#112 (2020-09-30); cep21/circuit#159 (orphans of
// failed duplicate creation).
func TestGroupMakesOneBreakerPerKey(t *testing.T) {
	const goroutines, keys = 64, 1000
	var configured atomic.Int64
	g, _ := newTestGroup(t, GroupConfig[string]{
		Config:    Config{Name: "shard"},
		Configure: func(_ string, c Config) Config { configured.Add(1); return c },
	})
	var got [goroutines][keys]*Breaker
	var ready, done sync.WaitGroup
	ready.Add(goroutines)
	for i := range goroutines {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			for k := range keys {
				got[i][k] = g.Get(fmt.Sprint("key", k))
			}
		})
	}
	done.Wait()
	for k := range keys {
		for i := range goroutines {
			if got[i][k] != got[0][k] {
				t.Fatalf("key %d has two breakers", k)
			}
		}
	}
	if s := g.Stats(); s.Breakers != keys || s.Created != keys || g.Len() != keys {
		t.Errorf("%+v, Len %d; want %d breakers", s, g.Len(), keys)
	}
	if got[0][7].Name() != "shard key7" {
		t.Errorf("name %q, want %q", got[0][7].Name(), "shard key7")
	}
	t.Logf("Configure ran %d times for %d keys", configured.Load(), keys)
}

// TestGroupLookupTakesNoLock looks keys up while the lock is held.
func TestGroupLookupTakesNoLock(t *testing.T) {
	g, _ := newTestGroup(t, GroupConfig[int]{})
	for k := range 100 {
		g.Get(k)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for n := range 1_000_000 / 64 {
				if g.Get(n%100) == g.overflow {
					t.Error("a key was lost")
				}
			}
		})
	}
	wg.Wait()
}

func TestGroupLookupAllocatesNothing(t *testing.T) {
	type target struct{ scheme, host, port string }
	strings, _ := newTestGroup(t, GroupConfig[string]{})
	structs, _ := newTestGroup(t, GroupConfig[target]{})
	ints, _ := newTestGroup(t, GroupConfig[int]{})
	full, _ := newTestGroup(t, GroupConfig[int]{Max: 1})
	key := target{"https", "example.com", "443"}
	for name, get := range map[string]func(){
		"string":   func() { strings.Get(key.host) },
		"struct":   func() { structs.Get(key) },
		"int":      func() { ints.Get(7) },
		"overflow": func() { full.Get(1); full.Get(2) },
	} {
		get()
		if n := testing.AllocsPerRun(100, get); n != 0 {
			t.Errorf("%s: %v allocations per lookup, want none", name, n)
		}
	}
}

// TestGroupLookupSeesEveryKeyWhileItGrows: an entry that is moved to a larger
// table is never found missing.
func TestGroupLookupSeesEveryKeyWhileItGrows(t *testing.T) {
	for range 10 {
		g, _ := newTestGroup(t, GroupConfig[int]{Max: 2000})
		want := g.Get(-1)
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !stop.Load() {
					if g.Get(-1) != want {
						t.Error("another breaker for a key that was there")
						return
					}
				}
			})
		}
		for k := range 2500 {
			g.Get(k)
		}
		stop.Store(true)
		wg.Wait()
	}
}

// A group never keeps more breakers than it may, and an open one is not dropped for a
// stranger.
//
// Field: S098, diegosouzapw/OmniRoute#4114 (2026-06-17: limit declared, never
// applied); koala73/worldmonitor#1873; arumes31/uplarr#94.
func TestGroupIsBoundedAndKeepsOpenBreakers(t *testing.T) {
	g, m := newTestGroup(t, GroupConfig[string]{
		Config:   Config{Cooldown: Cooldown{Min: time.Hour, Max: time.Hour}},
		Max:      500,
		IdleTime: time.Second,
	})
	open := g.Get("dead")
	open.Trip()
	for k := range 20_000 {
		b := g.Get(fmt.Sprint(k))
		if !call1(b, Success) {
			t.Fatal("a stranger's call was refused")
		}
		if n := g.Len(); n > 500 {
			t.Fatalf("%d breakers, want at most 500", n)
		}
		if k%10 == 0 {
			m.Advance(time.Millisecond)
		}
	}
	if g.Get("dead") != open || open.State() != StateOpen {
		t.Error("the open breaker was dropped")
	}
	s := g.Stats()
	if s.Evicted == 0 || s.Overflowed == 0 || s.Breakers != 500 || s.Created != s.Evicted+500 {
		t.Errorf("%+v", s)
	}
	if got := g.Overflow().Snapshot().Succeeded; got != s.Overflowed {
		t.Errorf("the overflow breaker counted %d calls, want %d", got, s.Overflowed)
	}
}

func TestGroupOverflowRefusesNobody(t *testing.T) {
	g, _ := newTestGroup(t, GroupConfig[string]{Config: Config{Name: "up"}, Max: 1})
	g.Get("one")
	b := g.Get("two")
	if b != g.Overflow() || b != g.Get("three") {
		t.Fatal("keys without room do not share the overflow breaker")
	}
	for range 1000 {
		call1(b, Failure)
	}
	if !b.Ready() || b.Name() != "up (overflow)" {
		t.Errorf("overflow breaker %q: ready %v, want it to refuse nobody", b.Name(), b.Ready())
	}
	if s := g.Stats(); s.Overflowed != 2 || s.Evicted != 0 {
		t.Errorf("%+v, want 2 overflowed", s)
	}
}

// The longest idle goes first, by the clock of the group.
//
// Field: S096, resilience4j/resilience4j#734; cep21/circuit#159 (2026-08-18);
// cep21/circuit#150.
func TestGroupDropsTheLongestIdle(t *testing.T) {
	for name, c := range map[string]Config{
		"window of time":  {},
		"window of calls": {WindowCalls: 20},
	} {
		t.Run(name, func(t *testing.T) {
			g, m := newTestGroup(t, GroupConfig[int]{Config: c, Max: 3, IdleTime: time.Minute})
			for k := range 3 {
				call1(g.Get(k), Success)
			}
			m.Advance(40 * time.Second)
			call1(g.Get(0), Success) // 1 and 2 are idle from the start
			m.Advance(10 * time.Second)
			call1(g.Get(1), Failure)
			if g.Get(3) != g.Overflow() {
				t.Fatal("a breaker was dropped before its idle time")
			}
			m.Advance(61 * time.Second)
			call1(g.Get(0), Success)
			g.Get(3)
			if name == "window of calls" {
				// Outcomes have no time there: the first look only notes them.
				m.Advance(61 * time.Second)
				call1(g.Get(0), Success)
				call1(g.Get(1), Success)
				g.Get(3)
			}
			if g.has(2) || !g.has(0) || !g.has(1) || !g.has(3) {
				t.Fatalf("0: %v, 1: %v, 2: %v, 3: %v; want 2 dropped for 3", g.has(0), g.has(1), g.has(2), g.has(3))
			}
		})
	}
}

// TestGroupEvictionAgreesWithItsRule runs random traffic and checks each
// choice against a list that knows the instant of every outcome.
func TestGroupEvictionAgreesWithItsRule(t *testing.T) {
	const limit, idle = 8, 20 * time.Second
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		g, m := newTestGroup(t, GroupConfig[int]{
			Config:   Config{ConsecutiveFailures: 2, Cooldown: Cooldown{Min: 7 * time.Second, Max: 7 * time.Second}},
			Max:      limit,
			IdleTime: idle,
		})
		type entry struct {
			b    *Breaker
			last time.Duration // of the last outcome or change of state
		}
		kept := map[int]*entry{}
		const slack = time.Second // a bucket
		for range 3000 {
			m.Advance(time.Duration(rnd.IntN(1500)) * time.Millisecond)
			key := rnd.IntN(30)
			for _, e := range kept {
				e.last = max(e.last, e.b.Snapshot().Since)
			}
			b := g.Get(key)
			e := kept[key]
			switch {
			case e != nil:
				if e.b != b {
					t.Fatalf("seed %d: key %d got another breaker", seed, key)
				}
			case b == g.Overflow():
				for k, e := range kept {
					if s := e.b.State(); len(kept) == limit && s != StateOpen && m.Now()-e.last > idle+slack {
						t.Fatalf("seed %d: no room, but key %d, %v, is idle for %v", seed, k, s, m.Now()-e.last)
					}
				}
				continue
			default:
				for k, e := range kept {
					if g.has(k) {
						continue
					}
					if e.b.State() == StateOpen || m.Now()-e.last < idle-slack {
						t.Fatalf("seed %d: dropped key %d, %v, idle for %v", seed, k, e.b.State(), m.Now()-e.last)
					}
					for k2, e2 := range kept {
						if e2.b.State() != StateOpen && e2.last < e.last-slack {
							t.Fatalf("seed %d: dropped key %d, idle from %v, before key %d, idle from %v", seed, k, e.last, k2, e2.last)
						}
					}
					delete(kept, k)
				}
				e = &entry{b: b, last: m.Now()}
				kept[key] = e
			}
			if call1(b, Outcome(rnd.IntN(2))) {
				e.last = m.Now()
			}
			if len(kept) != g.Len() || g.Len() > limit {
				t.Fatalf("seed %d: %d breakers, want %d", seed, g.Len(), len(kept))
			}
		}
	}
}

func TestGroupKeepsWhatHasOutcomes(t *testing.T) {
	for name, c := range map[string]Config{
		"window of time":       {},
		"window of calls":      {WindowCalls: 20},
		"long window":          {Window: time.Hour},
		"window that can wake": {Window: time.Second, Buckets: 2},
	} {
		g, m := newTestGroup(t, GroupConfig[int]{Config: c, Max: 1, IdleTime: 10 * time.Second})
		for range 20 {
			call1(g.Get(1), Success)
			m.Advance(8 * time.Second)
			if g.Get(2) != g.Overflow() {
				t.Fatalf("%s: a breaker in use was dropped", name)
			}
		}
		// Idle from here, or for a window of calls from a look that notes it.
		m.Advance(8 * time.Second)
		g.Get(2)
		m.Advance(10*time.Second + max(c.Window/10, 0))
		if g.Get(2) == g.Overflow() {
			t.Errorf("%s: a breaker was kept after its idle time", name)
		}
	}
}

func TestGroupKeepsWhatIsInUse(t *testing.T) {
	g, m := newTestGroup(t, GroupConfig[string]{Max: 1, IdleTime: time.Second})
	b := g.Get("a")
	taken := func() bool { return g.Get("b") == g.Overflow() }

	b.Trip()
	m.Advance(499 * time.Millisecond)
	if !taken() {
		t.Fatal("dropped in its cooldown")
	}
	m.Advance(time.Millisecond) // half-open
	probe, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	m.Advance(5 * time.Second)
	if !taken() {
		t.Fatal("dropped with a probe in flight")
	}
	probe.Cancel()
	b.SetMode(ForcedOpen)
	m.Advance(time.Hour)
	if !taken() {
		t.Fatal("dropped while an operator holds it open")
	}
	b.SetMode(Auto) // half-open, nobody in flight
	m.Advance(3 * time.Second)
	if taken() || g.has("a") {
		t.Fatal("an idle half-open breaker was kept")
	}
	if !probe.Cancel() && probe.Cancel() { // settled above
		t.Error("a ticket of a dropped breaker was settled twice")
	}
}

// A call under way settles on the breaker that was dropped, which is then collected.
//
// Field: S101, afex/hystrix-go#95 (2018-09-12), #81, #107; twitter/finagle commit
// 2bfe36883 (2015-11-12); resilience4j/resilience4j#2243.
func TestGroupDroppedBreakerSettlesItsTicketsAndIsCollected(t *testing.T) {
	g, m := newTestGroup(t, GroupConfig[string]{Max: 1, IdleTime: time.Second})
	dropped := func() weak.Pointer[Breaker] {
		b := g.Get("a")
		call1(b, Success)
		ticket, _ := b.Acquire()
		m.Advance(time.Minute)
		g.Get("b")
		if g.has("a") || !ticket.Report(Failure) || b.Snapshot().Failed != 1 {
			t.Error("a call in flight did not settle on the dropped breaker")
		}
		m.Advance(time.Minute)
		return weak.Make(b)
	}()
	runtime.GC()
	runtime.GC()
	if dropped.Value() != nil {
		t.Error("a dropped breaker that nobody holds is still there")
	}
}

func TestGroupRemove(t *testing.T) {
	g, _ := newTestGroup(t, GroupConfig[string]{Max: 2})
	old := g.Get("a")
	g.Get("b")
	old.Trip()
	if g.Get("c") != g.Overflow() || !g.Remove("a") || g.Remove("a") || g.Remove("c") {
		t.Fatal("Remove does not tell whether there was one")
	}
	b := g.Get("a")
	if b == old || b.State() != StateClosed || b.Snapshot().Opened != 0 {
		t.Error("a key that was removed did not get a new breaker")
	}
}

func TestGroupAll(t *testing.T) {
	g, _ := newTestGroup(t, GroupConfig[int]{})
	for k := range 100 {
		g.Get(k)
	}
	seen := map[int]bool{}
	for k, b := range g.All() {
		if seen[k] || b != g.Get(k) {
			t.Fatalf("key %d twice, or with another breaker", k)
		}
		seen[k] = true
		g.Remove(k)
		g.Get(1000 + k)
	}
	if len(seen) != 100 || g.Len() != 100 {
		t.Errorf("saw %d keys, %d left; want 100, 100", len(seen), g.Len())
	}
	for range g.All() {
		break
	}
}

func TestGroupConfigure(t *testing.T) {
	var g *Group[string]
	g, _ = newTestGroup(t, GroupConfig[string]{
		Configure: func(key string, c Config) Config {
			switch key {
			case "strict":
				c.ConsecutiveFailures = 1
			case "renamed":
				c.Name = "other"
			case "asks others":
				c.ConsecutiveFailures = 1 + len(g.Get("renamed").Name())
			}
			return c
		},
	})
	call1(g.Get("strict"), Failure)
	call1(g.Get("lax"), Failure)
	if g.Get("strict").State() != StateOpen || g.Get("lax").State() != StateClosed {
		t.Error("the key's own configuration was not used")
	}
	if g.Get("renamed").Name() != "other" {
		t.Errorf("name %q, want other", g.Get("renamed").Name())
	}
	for range 6 {
		call1(g.Get("asks others"), Failure)
	}
	if g.Get("asks others").State() != StateOpen {
		t.Error("Configure could not use another key")
	}
}

func TestGroupConfigureOfItsOwnKeyPanics(t *testing.T) {
	for name, via := range map[string]map[string]string{
		"itself":             {"a": "a"},
		"through other keys": {"a": "b", "b": "c", "c": "a"},
	} {
		var g *Group[string]
		var ran int
		g, _ = newTestGroup(t, GroupConfig[string]{
			Configure: func(key string, c Config) Config {
				if ran++; ran < 1000 && via != nil {
					g.Get(via[key])
				}
				return c
			},
		})
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !regexp.MustCompile(`key [abc] asks the Group for that same key`).MatchString(text) {
					t.Errorf("%s: got %q", name, text)
				}
			}()
			g.Get("a")
		}()
		if ran != maxNested || g.configuring.Load() != 0 {
			t.Errorf("%s: Configure ran %d times, %d noted as running", name, ran, g.configuring.Load())
		}
		via = nil
		if g.Get("a") == nil || !g.has("a") {
			t.Errorf("%s: the panic left the key unusable", name)
		}
	}
}

// TestGroupConfigureOfManyIsNotRecursion: a thousand goroutines configure one key
// at once, each from within the Configure of another key.
func TestGroupConfigureOfManyIsNotRecursion(t *testing.T) {
	const goroutines = 1000
	var all sync.WaitGroup
	all.Add(goroutines)
	var g *Group[string]
	g, _ = newTestGroup(t, GroupConfig[string]{
		Configure: func(key string, c Config) Config {
			if key != "shared" {
				g.Get("shared")
				return c
			}
			all.Done()
			all.Wait() // for the others to be here too
			return c
		},
	})
	var got [goroutines]*Breaker
	var askers sync.WaitGroup
	for i := range goroutines {
		askers.Go(func() { got[i] = g.Get(fmt.Sprint("asker ", i)) })
	}
	askers.Wait()
	for i, b := range got {
		if b == nil {
			t.Fatalf("asker %d got none", i)
		}
	}
	if !g.has("shared") || g.configuring.Load() != 0 {
		t.Error("there is no shared key")
	}
}

// TestGroupConfigureOfItsOwnKeyPanicsAmongMany: the one that asks for its own key
// is told from those that wait beside it.
func TestGroupConfigureOfItsOwnKeyPanicsAmongMany(t *testing.T) {
	const waiting = 200
	var here sync.WaitGroup
	here.Add(waiting)
	leave := make(chan struct{})
	var g *Group[int]
	g, _ = newTestGroup(t, GroupConfig[int]{Configure: func(key int, c Config) Config {
		if key == 0 {
			g.Get(0)
			return c
		}
		here.Done()
		<-leave
		return c
	}})
	var waiters sync.WaitGroup
	for i := range waiting {
		waiters.Go(func() { g.Get(i + 1) })
	}
	here.Wait()
	func() {
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "key 0 asks the Group for that same key") {
				t.Errorf("got %q", text)
			}
		}()
		g.Get(0)
	}()
	close(leave)
	waiters.Wait()
	if g.Len() != waiting {
		t.Errorf("%d breakers, want %d", g.Len(), waiting)
	}
}

// TestGroupConfigureMayAskDeep: as many as may be, each asking for the next, while
// another goroutine configures a key.
func TestGroupConfigureMayAskDeep(t *testing.T) {
	here, leave := make(chan struct{}), make(chan struct{})
	var g *Group[int]
	g, _ = newTestGroup(t, GroupConfig[int]{Configure: func(key int, c Config) Config {
		switch {
		case key == 0:
			close(here)
			<-leave
		case key < maxNested:
			g.Get(key + 1)
		}
		return c
	}})
	var other sync.WaitGroup
	other.Go(func() { g.Get(0) })
	<-here
	g.Get(1)
	close(leave)
	other.Wait()
	if g.Len() != maxNested+1 {
		t.Errorf("%d breakers, want %d", g.Len(), maxNested+1)
	}
}

// TestGroupConfigureMayRunTwice: two goroutines may configure one key at once
// without taking each other for a call to the own key.
func TestGroupConfigureMayRunTwice(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	g, _ := newTestGroup(t, GroupConfig[string]{
		Configure: func(_ string, c Config) Config {
			both.Done()
			both.Wait() // each waits for the other to be here too
			return c
		},
	})
	var got [2]*Breaker
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = g.Get("a") })
	}
	wg.Wait()
	if got[0] != got[1] || g.Stats().Created != 1 {
		t.Error("two breakers for one key")
	}
}

func TestGroupReportsFaultyConfiguration(t *testing.T) {
	var faults []string
	g, _ := newTestGroup(t, GroupConfig[string]{
		Config:    Config{ConsecutiveFailures: 1},
		Configure: func(_ string, c Config) Config { c.FailureRate = 7; return c },
		OnError:   func(key string, err error) { faults = append(faults, key+": "+err.Error()) },
	})
	call1(g.Get("a"), Failure)
	if g.Get("a").State() != StateOpen {
		t.Error("the base configuration was not used")
	}
	if len(faults) != 1 || !strings.Contains(faults[0], "a: ") || !strings.Contains(faults[0], "FailureRate is 7") {
		t.Errorf("told of %q", faults)
	}
	if s := g.Stats(); s.Misconfigured != 1 {
		t.Errorf("%+v", s)
	}
}

func TestGroupValidateNamesEveryFault(t *testing.T) {
	_, err := NewGroup(GroupConfig[int]{Config: Config{FailureRate: 2}, Max: -3, IdleTime: time.Microsecond})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"Config.FailureRate is 2", "GroupConfig.Max is -3, want 1 to 1048576", "GroupConfig.IdleTime is 1µs, want 1ms to 24h0m0s"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if _, err := NewGroup(GroupConfig[int]{Max: maxGroupMax + 1}); err == nil || errors.Is(err, nil) {
		t.Error("a Max that is too large was accepted")
	}
}

func TestGroupNamesAreValidWhateverTheKey(t *testing.T) {
	for _, key := range []string{"", "plain", "a\x00b\nc", "\xff\xfe", strings.Repeat("é", 300), strings.Repeat("x", 255) + "é"} {
		for _, base := range []string{"", "base", strings.Repeat("b", 256)} {
			name := groupName(base, key)
			if err := (Config{Name: name}).Validate(); err != nil || !utf8.ValidString(name) {
				t.Errorf("key %q under %q: %v", key, base, err)
			}
		}
	}
	g, _ := newTestGroup(t, GroupConfig[string]{})
	if g.Get("a\x00") == g.Get("a\x01") {
		t.Error("two keys with one name share a breaker")
	}
}

func BenchmarkGroupGet(b *testing.B) {
	g, err := NewGroup(GroupConfig[string]{})
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]string, 256)
	for i := range keys {
		keys[i] = fmt.Sprintf("https://host-%d.example.com:443", i)
		g.Get(keys[i])
	}
	b.Run("op=hit", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				g.Get(keys[i&255])
			}
		})
	})
}

// A key that does not equal itself is never found: kept, it would fill the group.
func TestGroupKeepsNothingForKeysThatDoNotEqualThemselves(t *testing.T) {
	nan := math.NaN()
	type point struct {
		name string
		at   float64
	}
	t.Run("float64", func(t *testing.T) { refusesToKeep(t, nan, 1) })
	t.Run("complex", func(t *testing.T) { refusesToKeep(t, complex(0, nan), 1) })
	t.Run("struct", func(t *testing.T) { refusesToKeep(t, point{"a", nan}, point{"a", 1}) })
	t.Run("array", func(t *testing.T) { refusesToKeep(t, [2]float64{1, nan}, [2]float64{1, 2}) })
	t.Run("interface", func(t *testing.T) { refusesToKeep[any](t, nan, "a") })
	t.Run("struct in an interface", func(t *testing.T) { refusesToKeep[any](t, point{"a", nan}, point{"a", 1}) })
}

func refusesToKeep[K comparable](t *testing.T, bad, good K) {
	var configured int
	var told []error
	g, _ := newTestGroup(t, GroupConfig[K]{
		Max:       2,
		Configure: func(_ K, c Config) Config { configured++; return c },
		OnError:   func(_ K, err error) { told = append(told, err) },
	})
	for range 100 {
		if b := g.Get(bad); b != g.Overflow() {
			t.Fatalf("got %v, not the overflow breaker", b.Snapshot().Name)
		}
		if g.Remove(bad) {
			t.Fatal("it was kept")
		}
	}
	if b := g.Get(good); b == g.Overflow() || b != g.Get(good) {
		t.Error("an ordinary key has no breaker of its own")
	}
	if s := g.Stats(); s != (GroupStats{Breakers: 1, Created: 1, Overflowed: 100}) || g.Len() != 1 || configured != 1 {
		t.Errorf("%+v, %d kept, %d configured", s, g.Len(), configured)
	}
	if g.configuring.Load() != 0 || len(told) != 1 || !strings.Contains(told[0].Error(), "does not equal itself") {
		t.Errorf("told %v, want one error", told)
	}
}
