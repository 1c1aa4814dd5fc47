package atomicbreaker

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// G12: who reads the clock, and how often, in every state.
func TestOnlyProbesTransitionsAndWakingReadTheClock(t *testing.T) {
	in := func(t *testing.T, c Config, prepare func(*Breaker, *counting)) (*Breaker, *counting) {
		clk := new(counting)
		c.Clock = clk
		b := madeOn(t, c)
		prepare(b, clk)
		clk.Advance(0)
		clk.reads.Store(0)
		return b, clk
	}
	awake := func(b *Breaker, _ *counting) { ticket, _ := b.Acquire(); ticket.Done(context.Background(), nil) }
	asleep := func(*Breaker, *counting) {}
	open := func(b *Breaker, _ *counting) { b.Trip() }
	half := func(b *Breaker, clk *counting) { b.Trip(); clk.Advance(0); clk.Advance(500 * time.Millisecond) }
	full := func(b *Breaker, clk *counting) { half(b, clk); _, _ = b.Acquire() }
	mode := func(m Mode) func(*Breaker, *counting) {
		return func(b *Breaker, _ *counting) { b.SetMode(m); awake(b, nil) }
	}

	none := unwatched(Config{})
	last := unwatched(Config{WindowCalls: 10})
	timed := unwatched(Config{SlowCallDuration: time.Second})
	shadow := unwatched(Config{Mode: Shadow})
	both := func(settle func(*Ticket)) func(*Breaker) {
		return func(b *Breaker) { ticket, _ := b.Acquire(); settle(&ticket) }
	}
	acquire := both(func(*Ticket) {})
	succeed := both(func(x *Ticket) { x.Done(context.Background(), nil) })
	fail := both(func(x *Ticket) { x.Report(Failure) })
	failWithin := both(func(x *Ticket) { x.Done(context.Background(), errFailed) })
	ignore := both(func(x *Ticket) { x.Report(Ignored) })
	cancel := both(func(x *Ticket) { x.Cancel() })
	do := func(b *Breaker) { _ = b.Do(context.Background(), func(context.Context) error { return errFailed }) }
	ready := func(b *Breaker) { b.Ready(); b.State(); b.Name() }
	late := func(b *Breaker) { // of a ticket from before
		ticket := Ticket{breaker: b, claim: claim(b.load().generation()-1) << generationShift}
		ticket.Done(context.Background(), nil)
		ticket = Ticket{breaker: b, claim: ticket.claim}
		ticket.Report(Failure)
		ticket = Ticket{breaker: b, claim: ticket.claim}
		ticket.Cancel()
	}
	for name, x := range map[string]struct {
		c       Config
		prepare func(*Breaker, *counting)
		do      func(*Breaker)
		reads   int64
	}{
		"question, closed":          {none, awake, ready, 0},
		"question, open":            {none, open, ready, 1},
		"question, half-open":       {none, half, ready, 1},
		"question, timed":           {timed, awake, ready, 0},
		"success":                   {none, awake, succeed, 0},
		"failure":                   {none, awake, fail, 0},
		"failure within a context":  {none, awake, failWithin, 0},
		"ignored":                   {none, awake, ignore, 0},
		"cancelled":                 {none, awake, cancel, 0},
		"Do":                        {none, awake, do, 0},
		"late":                      {none, awake, late, 0},
		"of the last calls":         {last, asleep, fail, 0},
		"of the last calls, late":   {last, awake, late, 0},
		"forced closed":             {none, mode(ForcedClosed), fail, 0},
		"shadow, closed":            {shadow, awake, fail, 0},
		"shadow, open":              {shadow, open, fail, 0},
		"refused, open":             {none, open, acquire, 0},
		"refused, open, timed":      {timed, open, acquire, 0},
		"refused, half-open":        {none, full, acquire, 0},
		"refused, half-open, timed": {timed, full, acquire, 0},
		"refused, forced":           {none, mode(ForcedOpen), acquire, 0},
		"refused Do":                {none, open, do, 0},
		"first after idleness":      {none, asleep, succeed, 1},
		"cancelled while idle":      {none, asleep, cancel, 0},
		"timed":                     {timed, awake, succeed, 2},
		"timed, cancelled":          {timed, awake, cancel, 1},
		"probe, admission":          {none, half, acquire, 1},
		"probe, ignored":            {none, half, ignore, 2},
		"probe, success":            {none, half, succeed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b, clk := in(t, x.c, x.prepare)
			x.do(b)
			require.Equal(t, x.reads, clk.reads.Load())
			if x.reads == 0 { // nor after any number of them
				for range 1000 {
					x.do(b)
					if b.load().phase() == phaseClosed {
						b.forget(b.load().generation())
					}
				}
				// One refusal in so many looks whether the timer is late.
				require.LessOrEqual(t, clk.reads.Load(), int64(1+1000/lateEvery), "beyond a transition")
				if b.load().phase() == phaseClosed || b.load().forced() {
					require.LessOrEqual(t, clk.reads.Load(), int64(1), "beyond a transition")
				}
			}
		})
	}
}

// G12: no entry point allocates in any state, mode or configuration.
func TestNoEntryPointAllocates(t *testing.T) {
	ctx := context.Background()
	cause := func(context.Context) error { return errFailed }
	fine := func(context.Context) error { return nil }
	answer := func(context.Context) (int, error) { return 42, nil }
	entries := map[string]func(b *Breaker){
		"Ready":            func(b *Breaker) { b.Ready() },
		"State":            func(b *Breaker) { b.State() },
		"Name":             func(b *Breaker) { b.Name() },
		"RetryAfter":       func(b *Breaker) { b.RetryAfter() },
		"Acquire, dropped": func(b *Breaker) { _, _ = b.Acquire() },
		"Done(nil)":        func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Done(context.Background(), nil) },
		"Done(error)":      func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Done(context.Background(), errFailed) },
		"Report(Success)":  func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Report(Success) },
		"Report(Failure)":  func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Report(Failure) },
		"Report(Ignored)":  func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Report(Ignored) },
		"ReportAfter":      func(b *Breaker) { ticket, _ := b.Acquire(); ticket.ReportAfter(Failure, time.Second) },
		"Cancel":           func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Cancel() },
		"twice":            func(b *Breaker) { ticket, _ := b.Acquire(); ticket.Cancel(); ticket.Done(context.Background(), nil) },
		"rejected": func(b *Breaker) {
			if _, err := b.Acquire(); err != nil {
				IsRejected(err)
				err.(*RejectedError).RetryAfter()
			}
		},
	}
	ordinary := map[string]func(b *Breaker){ // what a probe's context, or a timed call, may cost is no promise
		"Do(nil)":   func(b *Breaker) { _ = b.Do(ctx, fine) },
		"Do(error)": func(b *Breaker) { _ = b.Do(ctx, cause) },
		"Do[T]":     func(b *Breaker) { _, _ = Do(ctx, b, answer) },
	}
	for kind, c := range map[string]Config{
		"default": {Stripes: 4},
		"last":    {WindowCalls: 50},
		"timed":   {SlowCallDuration: time.Second},
		"classic": {Recovery: Recovery{Probes: 1000, Successes: 900, Concurrent: 900}},
	} {
		for name, situation := range situations {
			c.ConsecutiveFailures, c.MinimumCalls = 1_000, 50
			try := func(entry string, f func(*Breaker)) {
				b, manual := situation(t, c)
				manual.Advance(0)
				got := testing.AllocsPerRun(100, func() { f(b) })
				require.Zero(t, got, "%s, %s: %s", kind, name, entry)
			}
			for entry, f := range entries {
				try(entry, f)
			}
			if strings.Contains(name, "half-open") || kind == "timed" {
				continue
			}
			for entry, f := range ordinary {
				try(entry, f)
			}
		}
	}
}

// TestTransitionsAllocateNothingButTheirNotes goes through a whole outage.
func TestTransitionsAllocateNothingButTheirNotes(t *testing.T) {
	outage := func(b *Breaker, manual *clock.Manual) func() {
		return func() {
			for _, o := range []Outcome{Success, Failure} {
				ticket, _ := b.Acquire()
				ticket.Report(o)
			}
			for _, o := range []Outcome{Failure, Success} {
				manual.Advance(0)
				manual.Advance(b.RetryAfter())
				ticket, _ := b.Acquire()
				ticket.Report(o)
			}
			manual.Advance(12 * time.Second)
		}
	}
	c := Config{ConsecutiveFailures: 1, Cooldown: Cooldown{Jitter: 0.25}}
	b, manual := made(t, c)
	require.Zero(t, testing.AllocsPerRun(50, outage(b, manual)))
	require.Equal(t, StateClosed, b.State())
	require.Equal(t, uint64(2*51), b.Snapshot().Opened)

	c.OnTransition = func(Transition) {}
	b, manual = made(t, c)
	require.LessOrEqual(t, testing.AllocsPerRun(50, outage(b, manual)), 5.0, "one for each of five transitions")
}

// TestNoLockNoChannelNoWallClock reads the sources of the packages that calls
// go through.
func TestNoLockNoChannelNoWallClock(t *testing.T) {
	for _, dir := range []string{".", "../ring"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		checked := 0
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "group") {
				continue // a Group is asked for a breaker, not by its calls
			}
			checked++
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NotContains(t, string(source), "go:linkname", name)
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, source, 0)
			require.NoError(t, err)
			if strings.HasPrefix(filepath.Base(name), "group") {
				continue // makes and keeps breakers; no call of one goes through it
			}
			for _, i := range file.Imports {
				require.NotEqual(t, `"sync"`, i.Path.Value, "%s: no Mutex, no Pool, no WaitGroup", name)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
					t.Errorf("%s: a channel", set.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" {
						switch n.Sel.Name {
						case "Now", "Since", "Until", "AfterFunc", "NewTimer", "NewTicker", "After", "Sleep", "Tick":
							t.Errorf("%s: time.%s goes past the clock", set.Position(n.Pos()), n.Sel.Name)
						}
					}
				}
				return true
			})
		}
		require.Greater(t, checked, 3)
	}
}
