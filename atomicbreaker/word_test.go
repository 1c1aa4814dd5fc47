package atomicbreaker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fields is a word without its bits: the table below is written in it, so that
// it shares no shift and no mask with the code.
type fields struct {
	phase      phase
	mode       Mode
	inFlight   int
	window     int
	generation uint32
}

func decoded(w word) fields {
	return fields{w.phase(), w.mode(), w.inFlight(), w.window(), w.generation()}
}

func (f fields) word() word { return pack(f.phase, f.mode, f.inFlight, f.window, f.generation) }

func (f fields) forced() bool { return f.mode == ForcedOpen || f.mode == ForcedClosed }

// next is a new generation in a phase, with nothing in flight.
func (f fields) next(p phase, window int) fields {
	return fields{phase: p, mode: f.mode, window: window, generation: f.generation + 1}
}

// legal says which words may ever be stored.
func (f fields) legal() error {
	switch {
	case f.phase < phaseClosed || f.phase > phaseHalfOpen:
		return fmt.Errorf("no phase: %+v", f)
	case f.mode == ForcedOpen && f.phase != phaseOpen, f.mode == ForcedClosed && f.phase != phaseClosed:
		return fmt.Errorf("the mode is not obeyed: %+v", f)
	case f.phase != phaseHalfOpen && f.inFlight != 0:
		return fmt.Errorf("probes in flight outside of half-open: %+v", f)
	case f.phase == phaseHalfOpen && f.window == 0:
		return fmt.Errorf("half-open without a window: %+v", f)
	case f.forced() && f.window > int(commandReset):
		return fmt.Errorf("no command: %+v", f)
	case f.phase == phaseClosed && !f.forced() && f.window > samplesPerTick:
		return fmt.Errorf("too many samples: %+v", f)
	case f.phase == phaseOpen && !f.forced() && f.window != 0:
		return fmt.Errorf("a window in open: %+v", f)
	}
	return nil
}

var (
	allPhases = []phase{phaseClosed, phaseOpen, phaseHalfOpen}
	allModes  = []Mode{Auto, ForcedOpen, ForcedClosed, Shadow}

	boundaryPayloads    = []int{0, 1, 2, 3, 8191, 8192, 16382, 16383}
	boundaryGenerations = []uint32{0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff}
)

// eachLegal calls f with every legal combination of phase, mode and boundary
// values of the rest.
func eachLegal(f func(fields)) {
	for _, p := range allPhases {
		for _, m := range allModes {
			for _, inFlight := range boundaryPayloads {
				for _, window := range boundaryPayloads {
					for _, generation := range boundaryGenerations {
						x := fields{p, m, inFlight, window, generation}
						if x.legal() == nil {
							f(x)
						}
					}
				}
			}
		}
	}
}

// A row is one line of the transition table in word.go.
type row struct {
	event string
	in    func(fields) bool   // whether the event may happen in this word
	to    func(fields) fields // what it makes of it
	do    func(word) word     // what the code makes of it
}

// firstWindow is W0 in this file: neither 1 nor a limit.
const firstWindow = 5

func closed(f fields) bool   { return f.phase == phaseClosed }
func open(f fields) bool     { return f.phase == phaseOpen }
func halfOpen(f fields) bool { return f.phase == phaseHalfOpen }
func free(f fields) bool     { return !f.forced() }

func both(a, b func(fields) bool) func(fields) bool {
	return func(f fields) bool { return a(f) && b(f) }
}

// transitionTable is the table of word.go as data.
func transitionTable() []row {
	rows := []row{
		{
			"trip", both(closed, free),
			func(f fields) fields { return f.next(phaseOpen, 0) },
			func(w word) word { return w.to(phaseOpen, 0) },
		},
		{
			"reopen", halfOpen,
			func(f fields) fields { return f.next(phaseOpen, 0) },
			func(w word) word { return w.to(phaseOpen, 0) },
		},
		{
			"cool", both(open, free),
			func(f fields) fields { return f.next(phaseHalfOpen, firstWindow) },
			func(w word) word { return w.to(phaseHalfOpen, firstWindow) },
		},
		{
			"close", halfOpen,
			func(f fields) fields { return f.next(phaseClosed, 0) },
			func(w word) word { return w.to(phaseClosed, 0) },
		},
		{
			"reset", free,
			func(f fields) fields { return f.next(phaseClosed, 0) },
			func(w word) word { return w.to(phaseClosed, 0) },
		},
		{
			"brake", both(closed, free),
			func(f fields) fields { return f.next(phaseHalfOpen, 77) },
			func(w word) word { return w.to(phaseHalfOpen, 77) },
		},
		{
			"sample", func(f fields) bool { return closed(f) && free(f) && f.window > 0 },
			func(f fields) fields { f.window--; return f },
			func(w word) word { return w.withSamples(w.samples() - 1) },
		},
		{
			"refill", both(closed, free),
			func(f fields) fields { f.window = samplesPerTick; return f },
			func(w word) word { return w.withSamples(samplesPerTick) },
		},
		{
			"admit", func(f fields) bool { return halfOpen(f) && f.inFlight < f.window },
			func(f fields) fields { f.inFlight++; return f },
			func(w word) word { w, _ = w.admit(); return w },
		},
		{
			"raise", halfOpen,
			func(f fields) fields { f.window = min(max(f.window, f.inFlight)+1, 16383); return f },
			word.raise,
		},
	}
	for _, window := range []int{-1, 0, 1, 2, 8191, 16382, 16383, 16384} {
		rows = append(rows, row{
			fmt.Sprintf("release to %d", window), func(f fields) bool { return halfOpen(f) && f.inFlight > 0 },
			func(f fields) fields {
				f.inFlight--
				f.window = min(max(window, 1), 16383)
				return f
			},
			func(w word) word { return w.release(window) },
		})
	}
	for _, c := range []command{commandTrip, commandReset} {
		rows = append(rows, row{
			fmt.Sprintf("command %d", c), fields.forced,
			func(f fields) fields { f.window = int(c); return f },
			func(w word) word { return w.withCommand(c) },
		})
	}
	for _, m := range allModes {
		rows = append(rows, row{
			"to mode " + m.String(), func(fields) bool { return true },
			func(f fields) fields { return toMode(f, m) },
			func(w word) word { return w.withMode(m, firstWindow) },
		})
	}
	return rows
}

// toMode is the rows force, unforce and shade.
func toMode(f fields, m Mode) fields {
	from := f.mode
	f.mode = m
	command := 0 // 1 for Trip, 2 for Reset
	if from == ForcedOpen || from == ForcedClosed {
		command = f.window
	}
	stay := func(p phase, window int) fields { // a new generation only with another phase
		if f.phase == p {
			return fields{phase: p, mode: m, window: window, generation: f.generation}
		}
		return f.next(p, window)
	}
	switch [2]Mode{from, m} {
	case [2]Mode{Auto, Shadow}, [2]Mode{Shadow, Auto}:
		return f
	case [2]Mode{Auto, ForcedOpen}, [2]Mode{Shadow, ForcedOpen}, [2]Mode{ForcedClosed, ForcedOpen}:
		return stay(phaseOpen, command)
	case [2]Mode{Auto, ForcedClosed}, [2]Mode{Shadow, ForcedClosed}, [2]Mode{ForcedOpen, ForcedClosed}:
		return stay(phaseClosed, command)
	case [2]Mode{ForcedOpen, Auto}, [2]Mode{ForcedOpen, Shadow}:
		return map[int]fields{
			0: f.next(phaseHalfOpen, firstWindow),
			1: stay(phaseOpen, 0),
			2: f.next(phaseClosed, 0),
		}[command]
	case [2]Mode{ForcedClosed, Auto}, [2]Mode{ForcedClosed, Shadow}:
		return map[int]fields{
			0: stay(phaseClosed, 0),
			1: f.next(phaseOpen, 0),
			2: f.next(phaseClosed, 0),
		}[command]
	}
	return f // the mode it has
}

// TestTransitionTable walks every phase, mode and boundary payload through
// every event.
func TestTransitionTable(t *testing.T) {
	rows := transitionTable()
	walked := make(map[string]int)
	eachLegal(func(f fields) {
		w := f.word()
		for _, r := range rows {
			if !r.in(f) {
				continue
			}
			got, want := decoded(r.do(w)), r.to(f)
			if got != want {
				t.Fatalf("%s in %+v\nis  %+v\nnot %+v", r.event, f, got, want)
			}
			if err := got.legal(); err != nil {
				t.Fatalf("%s in %+v: %v", r.event, f, err)
			}
			walked[r.event]++
		}
		if next, ok := w.admit(); ok != (halfOpen(f) && f.inFlight < f.window) || !ok && next != w {
			t.Fatalf("admit in %+v: %+v, %t", f, decoded(next), ok)
		}
		if c := w.command(); free(f) && c != commandNone {
			t.Fatalf("a command of %d in %+v", c, f)
		}
	})
	for _, r := range rows {
		require.Positive(t, walked[r.event], "%s was never walked", r.event)
	}
}

// TestGenerationGrowsExactlyWithThePhase holds what a generation is against the
// table: it ends with every change of phase, and otherwise only by a Reset.
func TestGenerationGrowsExactlyWithThePhase(t *testing.T) {
	eachLegal(func(f fields) {
		for _, r := range transitionTable() {
			if !r.in(f) {
				continue
			}
			got := decoded(r.do(f.word()))
			reset := r.event == "reset" || f.forced() && !got.forced() && f.window == int(commandReset)
			grown := got.generation - f.generation
			if want := got.phase != f.phase || reset; grown > 1 || (grown == 1) != want {
				t.Fatalf("%s in %+v to %+v", r.event, f, got)
			}
		}
	})
}

// TestNothingOutsideTheTableIsReachable goes through all words that events
// lead to from those that New makes, with counts up to a small limit.
func TestNothingOutsideTheTableIsReachable(t *testing.T) {
	const limit = 9
	var todo []fields
	for _, m := range allModes {
		b, _ := made(t, Config{Mode: m})
		todo = append(todo, decoded(b.load()))
	}
	rows := transitionTable()
	seen := make(map[fields]bool)
	for len(todo) > 0 {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		f.generation = 0 // no event looks at it
		if seen[f] || f.inFlight > limit || f.window > limit {
			continue
		}
		seen[f] = true
		if err := f.legal(); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.in(f) {
				todo = append(todo, decoded(r.do(f.word())))
			}
		}
	}
	for _, p := range allPhases {
		for _, m := range allModes {
			reached := false
			for f := range seen {
				reached = reached || f.phase == p && f.mode == m
			}
			want := fields{phase: p, mode: m, window: 1}.legal() == nil || fields{phase: p, mode: m}.legal() == nil
			require.Equal(t, want, reached, "%v in %v", State(p-1), m)
		}
	}
}

func TestWordKeepsEveryFieldApart(t *testing.T) {
	for _, p := range append(allPhases, 0) {
		for _, m := range allModes {
			for _, inFlight := range boundaryPayloads {
				for _, window := range boundaryPayloads {
					for _, generation := range boundaryGenerations {
						f := fields{p, m, inFlight, window, generation}
						if got := decoded(f.word()); got != f {
							t.Fatalf("packed %+v, unpacked %+v", f, got)
						}
					}
				}
			}
		}
	}
	for bit := range 64 { // each bit belongs to one field
		f := decoded(1 << bit)
		set := 0
		for _, v := range []uint64{uint64(f.phase), uint64(f.mode), uint64(f.inFlight), uint64(f.window), uint64(f.generation)} {
			if v != 0 {
				set++
			}
		}
		require.Equal(t, 1, set, "bit %d", bit)
	}
}

func TestGenerationHas32Bits(t *testing.T) {
	// A ticket would have to stay out for this long at the shortest cooldown to
	// meet its own generation again: two changes of state a millisecond.
	const days = float64(1<<generationBits) / 2000 / 3600 / 24
	require.Equal(t, 32, generationBits)
	require.Greater(t, days, 24.0)
}

func TestLimitsOfTheFields(t *testing.T) {
	require.Equal(t, 16383, maxInFlight)
	require.Equal(t, 16383, maxWindow)

	full := pack(phaseHalfOpen, Auto, 16382, 16383, 7)
	full, ok := full.admit()
	require.True(t, ok)
	require.Equal(t, 16383, full.inFlight())
	_, ok = full.admit()
	require.False(t, ok, "the count of probes ran over")
	require.Equal(t, full, full.raise(), "the window ran over")

	last := pack(phaseHalfOpen, Auto, 1, 1, 0xffffffff)
	require.Equal(t, pack(phaseClosed, Auto, 0, 0, 0), last.to(phaseClosed, 0), "the generation did not wrap")
	require.Equal(t, pack(phaseHalfOpen, Auto, 0, 1, 0xffffffff), last.release(0), "a window of nothing")
}

// TestBreakerFollowsTheTable puts a Breaker into every legal word and sees that
// what it does is what the table says, guards included.
func TestBreakerFollowsTheTable(t *testing.T) {
	type operation struct {
		event string
		do    func(b *Breaker, w word)
	}
	operations := []operation{
		{"trip", func(b *Breaker, w word) { b.trip(w.generation(), ReasonStreak, Counts{}, 0) }},
		{"trip of another generation", func(b *Breaker, w word) { b.trip(w.generation()-1, ReasonStreak, Counts{}, 0) }},
		{"Trip", func(b *Breaker, _ word) { b.Trip() }},
		{"Reset", func(b *Breaker, _ word) { b.Reset() }},
		{"Acquire", func(b *Breaker, _ word) { _, _ = b.Acquire() }},
		{"Ready", func(b *Breaker, _ word) { b.Ready(); b.Snapshot(); b.RetryAfter(); b.State() }},
		{"cool", func(b *Breaker, _ word) { b.work() }},
		{"close", func(b *Breaker, w word) {
			if w.phase() == phaseHalfOpen {
				b.close(w)
			}
		}},
	}
	for _, m := range allModes {
		operations = append(operations, operation{"to mode " + m.String(), func(b *Breaker, _ word) { b.SetMode(m) }})
	}
	want := func(event string, f fields) fields {
		switch event {
		case "trip":
			if free(f) && !open(f) {
				return f.next(phaseOpen, 0)
			}
		case "Trip":
			switch {
			case f.forced():
				f.window = int(commandTrip)
			case !open(f):
				return f.next(phaseOpen, 0)
			}
		case "Reset":
			if f.forced() {
				f.window = int(commandReset)
				return f
			}
			return f.next(phaseClosed, 0)
		case "Acquire":
			switch {
			case halfOpen(f) && f.inFlight < f.window:
				f.inFlight++
			case closed(f) && free(f) && f.window > 0:
				f.window--
			}
		case "close":
			if halfOpen(f) {
				return f.next(phaseClosed, 0)
			}
		case "cool":
			if open(f) && free(f) {
				return f.next(phaseHalfOpen, firstWindow)
			}
			if closed(f) && free(f) {
				f.window = samplesPerTick
			}
		default:
			if i := slices.IndexFunc(allModes, func(m Mode) bool { return event == "to mode "+m.String() }); i >= 0 {
				return toMode(f, allModes[i])
			}
		}
		return f
	}
	var announced []Transition
	b, _ := made(t, Config{ // and it learns the patience
		Recovery:     Recovery{Probes: 2 * firstWindow, Concurrent: firstWindow}, // W0 is firstWindow
		OnTransition: func(tr Transition) { announced = append(announced, tr) },
	})
	eachLegal(func(f fields) {
		for _, o := range operations {
			w := f.word()
			jump(b, w)
			b.next = f.generation + 1
			b.wait.v.Store(tag(f.generation, 0)) // a cooldown that is over
			announced = announced[:0]

			o.do(b, w)
			b.tellAll()
			got, want := decoded(b.load()), want(o.event, f)
			if got != want {
				t.Fatalf("%s in %+v\nis  %+v\nnot %+v", o.event, f, got, want)
			}
			if changed := got.phase != f.phase; changed != (len(announced) == 1) {
				t.Fatalf("%s in %+v announced %d times", o.event, f, len(announced))
			} else if changed && announced[0].Generation != got.generation {
				t.Fatalf("%s in %+v announced as %d", o.event, f, announced[0].Generation)
			}
		}
	})
}
