package docs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/stretchr/testify/require"
)

// This file measures in which order to put retries, timeouts, limits, fallbacks and a
// breaker: real code around a simulated dependency, in a synctest bubble.

var (
	errDown  = errors.New("down")
	errLimit = errors.New("over the limit")
)

// dependency is a server with workers and a queue. It does not notice that a client has
// left, and works on what it left behind.
type dependency struct {
	workers, queue int
	from, to       time.Duration // the incident
	hanging        bool          // in the incident

	sync.Mutex
	began   time.Time
	busy    int
	waiting []*job
	sent    int // calls in the incident
	failed  int // calls that failed, in all
}

type job struct {
	takes time.Duration
	done  chan error
}

// inIncident reports whether the incident is on.
func (d *dependency) inIncident() bool {
	at := time.Since(d.began)
	return at >= d.from && at < d.to
}

func (d *dependency) start(j *job) {
	d.busy++
	time.AfterFunc(j.takes, func() {
		j.done <- nil
		d.Lock()
		defer d.Unlock()
		d.busy--
		if len(d.waiting) > 0 {
			next := d.waiting[0]
			d.waiting = d.waiting[1:]
			d.start(next)
		}
	})
}

// call is one call of a client, answered after 25 ms and an exponential 25 ms.
func (d *dependency) call(ctx context.Context, r *rand.Rand) (err error) {
	j := &job{takes: 25*time.Millisecond + time.Duration(r.ExpFloat64()*25e6), done: make(chan error, 1)}
	d.Lock()
	sick := d.inIncident()
	if sick {
		d.sent++
	}
	switch {
	case sick && d.hanging:
	case d.busy < d.workers:
		d.start(j)
	case len(d.waiting) < d.queue:
		d.waiting = append(d.waiting, j)
	default:
		j.done <- errDown
	}
	d.Unlock()
	select {
	case err = <-j.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		d.Lock()
		d.failed++
		d.Unlock()
	}
	return err
}

// A site is one operation of a caller.
type site func(ctx context.Context, r *rand.Rand, call func(context.Context) error) error

// trial is a dependency under a load that rises during the incident.
type trial struct {
	dependency
	rate, surge float64 // operations a second
}

// figures are what came of it.
type figures struct {
	good, failed int           // operations
	back         int           // seconds from the end of the incident to five good ones in a row; -1: never
	sent, bad    int           // calls in the incident; calls that failed, in all
	wait         time.Duration // median of the operations that were born in the incident
	together     int           // operations under way at once
}

const trialLength = 60 * time.Second

// run makes operations by chance, in the same way for each site.
func (d *trial) run(t *testing.T, s site) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		d.began = time.Now()
		var lock sync.Mutex
		var all sync.WaitGroup
		var waits []time.Duration
		born, good := make([]int, 200), make([]int, 200)
		under := 0
		chance := rand.New(rand.NewPCG(1, 2))
		for n := uint64(0); time.Since(d.began) < trialLength; n++ {
			rate := d.rate
			sick := d.inIncident()
			if sick {
				rate = d.surge
			}
			time.Sleep(time.Duration(chance.ExpFloat64() / rate * 1e9))
			all.Go(func() {
				begin := time.Now()
				second := int(time.Since(d.began) / time.Second)
				lock.Lock()
				under++
				f.together = max(f.together, under)
				lock.Unlock()
				r := rand.New(rand.NewPCG(3, n))
				err := s(t.Context(), r, func(ctx context.Context) error { return d.call(ctx, r) })
				lock.Lock()
				defer lock.Unlock()
				under--
				born[second]++
				if sick {
					waits = append(waits, time.Since(begin))
				}
				if err != nil {
					f.failed++
					return
				}
				f.good++
				good[second]++
			})
		}
		all.Wait()
		slices.Sort(waits)
		f.wait, f.sent, f.bad, f.back = waits[len(waits)/2], d.sent, d.dependency.failed, -1
		end := int(d.to / time.Second)
		for s, row := end, 0; s < int(trialLength/time.Second); s++ {
			if row++; good[s]*100 < born[s]*95 {
				row = 0
			}
			if row == 5 {
				f.back = s - 4 - end
				break
			}
		}
	})
	return f
}

// timed gives a call a second.
func timed(call func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return call(ctx)
	}
}

// thrice tries three times, half a second to one and a half apart, and takes a refusal
// for an answer.
func thrice(ctx context.Context, r *rand.Rand, call func(context.Context) error) (err error) {
	for n := range 3 {
		if n > 0 {
			time.Sleep(500*time.Millisecond + time.Duration(r.Float64()*1e9))
		}
		if err = call(ctx); err == nil || atomicbreaker.IsRejected(err) {
			return err
		}
	}
	return err
}

// made returns a breaker at its defaults whose chances repeat.
func made() *atomicbreaker.Breaker {
	var lock sync.Mutex
	chance := rand.New(rand.NewPCG(5, 6))
	return atomicbreaker.MustNew(atomicbreaker.Config{Rand: func() float64 {
		lock.Lock()
		defer lock.Unlock()
		return chance.Float64()
	}})
}

// limit lets n calls through at once.
type limit chan struct{}

func (l limit) do(f func() error) error {
	select {
	case l <- struct{}{}:
		defer func() { <-l }()
		return f()
	default:
		return errLimit
	}
}

// guarded makes a site that has a breaker of its own in each trial.
func guarded(with func(b *atomicbreaker.Breaker) site) site {
	var once sync.Once
	var s site
	return func(ctx context.Context, r *rand.Rand, call func(context.Context) error) error {
		once.Do(func() { s = with(made()) }) // inside the bubble
		return s(ctx, r, call)
	}
}

func (f figures) backAfter() string {
	if f.back < 0 {
		return "not within 40 s"
	}
	return fmt.Sprintf("%d s", f.back)
}

func (f figures) waited() string { return fmt.Sprintf("%d ms", f.wait.Milliseconds()) }

// The three dependencies. Twice as many as the first can serve come for ten seconds; the
// second does not answer for ten seconds; the third can serve all, and its limit cannot.
func overloaded() *trial {
	return &trial{dependency: dependency{workers: 20, queue: 2000, from: 10 * time.Second, to: 20 * time.Second}, rate: 200, surge: 800}
}

func hanging() *trial {
	return &trial{dependency: dependency{workers: 20, queue: 2000, from: 10 * time.Second, to: 20 * time.Second, hanging: true}, rate: 200, surge: 200}
}

func well() *trial {
	return &trial{dependency: dependency{workers: 400, queue: 2000, from: 10 * time.Second, to: 20 * time.Second}, rate: 200, surge: 4000}
}

// tables are the tables of order.md under construction.
type tables struct {
	*testing.T
	made map[string]string
}

func (t tables) add(name, head string, rows ...[]any) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n|%s\n", head, strings.Repeat("---|", strings.Count(head, "|")-1))
	for _, row := range rows {
		text.WriteString("|")
		for _, cell := range row {
			fmt.Fprintf(&text, " %v |", cell)
		}
		text.WriteString("\n")
	}
	t.made[name] = text.String()
}

// check holds the page against the tables, or writes it again.
func (t tables) check() {
	page := read(t.T, "order.md")
	for name, table := range t.made {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(page, begin)
		require.True(t, found, name)
		old, after, found := strings.Cut(rest, end)
		require.True(t, found, name)
		if !*update && runtime.GOARCH == "amd64" { // elsewhere products and sums may be fused
			require.Equal(t, table, old, "go test ./docs -run Order -update")
		}
		page = before + begin + table + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile("order.md", []byte(page), 0o666))
	}
}

func TestOrderOfRetries(t *testing.T) {
	none := overloaded().run(t, func(ctx context.Context, r *rand.Rand, call func(context.Context) error) error {
		return thrice(ctx, r, timed(call))
	})
	around := overloaded().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		return func(ctx context.Context, r *rand.Rand, call func(context.Context) error) error {
			return thrice(ctx, r, func(ctx context.Context) error { return b.Do(ctx, timed(call)) })
		}
	}))
	inside := overloaded().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		return func(ctx context.Context, r *rand.Rand, call func(context.Context) error) error {
			return b.Do(ctx, func(ctx context.Context) error { return thrice(ctx, r, timed(call)) })
		}
	}))
	require.Greater(t, around.good, inside.good)
	require.Greater(t, inside.good, none.good)
	require.Less(t, 3*around.bad, inside.bad)
	row := func(name string, f figures) []any { return []any{name, f.good, f.bad, f.together, f.backAfter()} }
	page := tables{t, make(map[string]string)}
	page.add("retries", "| | operations that succeeded | calls that failed | operations at once, at most | back to normal after the surge |",
		row("retries, no breaker", none), row("breaker around the retries", inside), row("**retries around the breaker**", around))
	page.check()
}

func TestOrderOfTimeouts(t *testing.T) {
	inside := hanging().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		return func(ctx context.Context, _ *rand.Rand, call func(context.Context) error) error {
			return b.Do(ctx, timed(call))
		}
	}))
	none := hanging().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		return func(ctx context.Context, _ *rand.Rand, call func(context.Context) error) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(20*time.Second, cancel).Stop() // the caller leaves
			return b.Do(ctx, call)
		}
	}))
	require.Less(t, inside.sent, 400)
	require.Less(t, inside.wait, time.Second)
	require.Greater(t, none.wait, 10*time.Second)
	row := func(name string, f figures) []any { return []any{name, f.sent, f.waited(), f.together} }
	page := tables{t, make(map[string]string)}
	page.add("timeouts", "| | calls sent in the outage | half of the callers waited at least | operations at once, at most |",
		row("no timeout; callers leave after 20 s", none), row("**timeout of 1 s inside the breaker**", inside))
	page.check()
}

func TestOrderOfLimits(t *testing.T) {
	outside := well().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		l := make(limit, 40)
		return func(ctx context.Context, _ *rand.Rand, call func(context.Context) error) error {
			return l.do(func() error { return b.Do(ctx, timed(call)) })
		}
	}))
	inside := well().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		l := make(limit, 40)
		return func(ctx context.Context, _ *rand.Rand, call func(context.Context) error) error {
			return b.Do(ctx, func(ctx context.Context) error { return l.do(func() error { return timed(call)(ctx) }) })
		}
	}))
	require.Zero(t, outside.bad, "the dependency is well")
	require.Zero(t, inside.bad, "the dependency is well")
	require.Less(t, 10*inside.sent, 9*outside.sent, "a breaker that opens though all is well")
	row := func(name string, f figures) []any { return []any{name, f.sent, f.backAfter()} }
	page := tables{t, make(map[string]string)}
	page.add("limits", "| | calls that succeeded in the burst | back to normal after the burst |",
		row("limit inside, its refusals are failures", inside), row("**limit outside the breaker**", outside))
	page.check()
}

func TestOrderOfFallbacks(t *testing.T) {
	outside := hanging().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		return func(ctx context.Context, _ *rand.Rand, call func(context.Context) error) error {
			if b.Do(ctx, timed(call)) != nil {
				return nil // an answer from memory
			}
			return nil
		}
	}))
	inside := hanging().run(t, guarded(func(b *atomicbreaker.Breaker) site {
		return func(ctx context.Context, _ *rand.Rand, call func(context.Context) error) error {
			return b.Do(ctx, func(ctx context.Context) error {
				if timed(call)(ctx) != nil {
					return nil // an answer from memory
				}
				return nil
			})
		}
	}))
	require.Less(t, outside.wait, 10*time.Millisecond)
	require.GreaterOrEqual(t, inside.wait, time.Second)
	require.Less(t, 4*outside.sent, inside.sent)
	row := func(name string, f figures) []any { return []any{name, f.sent, f.waited()} }
	page := tables{t, make(map[string]string)}
	page.add("fallbacks", "| | calls sent in the outage | half of the callers waited at least |",
		row("fallback inside: the breaker never opens", inside), row("**fallback outside the breaker**", outside))
	page.check()
}
