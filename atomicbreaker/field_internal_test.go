package atomicbreaker

import (
	"math"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
)

// A field at its maximum stays there or begins anew, and no neighbour in the
// same word notices.
//
// Field: S084, 1mb-dev/autobreaker v1.1.0 (2026-01-23).
func TestFieldFullFieldsKeepTheirNeighbours(t *testing.T) {
	const gen = math.MaxUint32
	k := new(streak)
	k.v.Store(gen<<32 | streakLength - 1)
	for range 10 {
		if got := k.add(gen); got != streakLength {
			t.Errorf("a streak at its maximum is %d after a failure", got)
		}
	}
	if got := k.v.Load(); got != gen<<32|streakLength {
		t.Errorf("the word of the streak is %#x", got)
	}

	full := pack(phaseHalfOpen, Shadow, maxInFlight, maxWindow, gen)
	for name, w := range map[string]word{
		"raised":   full.raise(),
		"released": full.release(maxWindow + 1000).raise(),
	} {
		if w.phase() != phaseHalfOpen || w.mode() != Shadow || w.generation() != gen || w.window() != maxWindow {
			t.Errorf("%s: %v, %v, window %d, generation %#x", name, w.state(), w.mode(), w.window(), w.generation())
		}
	}
	if w, ok := full.admit(); ok || w != full {
		t.Error("admitted beyond the field")
	}
	if w := full.to(phaseOpen, 0); w != pack(phaseOpen, Shadow, 0, 0, 0) {
		t.Errorf("the generation after the last is %#x in the word %#x", w.generation(), uint64(w))
	}

	var v tagged
	one := func(old uint64, ok bool) uint64 { return old + 1 }
	v.v.Store(tag(gen, taggedMax-1))
	for range 10 {
		v.update(gen, one)
	}
	if got, ok := v.get(gen); !ok || got != taggedMax {
		t.Errorf("a tagged count at its maximum is %d, %v", got, ok)
	}

	e := evidence{generation: gen, cut: math.MaxUint16, alive: true, tally: netFailures*(tallyOne-1) - 1, credit: creditOne - 1}
	if got := evidenceOf(e.pack(), gen); got != e {
		t.Errorf("evidence at its limits reads back as %+v, want %+v", got, e)
	}
	r := recovery{weight: 1}
	if next, does := r.judge(e, 1, 2, answer{failed: true, others: 1}); does.verdict != cut || next.cut == 0 {
		t.Errorf("the cut after the last is %d, %v", next.cut, does.verdict)
	}
}

// A breaker goes on as ever when its generation passes its last number: states,
// counts, events and late outcomes.
//
// Field: S084, 1mb-dev/autobreaker v1.1.0 (2026-01-23).
func TestFieldGenerationPassesItsLastNumber(t *testing.T) {
	m := new(clock.Manual)
	var told []Transition
	b := MustNew(Config{
		Clock: m, ConsecutiveFailures: 3, FailureRate: Off,
		Cooldown:     Cooldown{Min: time.Second, Max: time.Second, Factor: 1, Jitter: Off},
		Recovery:     Recovery{Probes: 1},
		OnTransition: func(tr Transition) { told = append(told, tr) },
	})
	const last = math.MaxUint32
	jump(b, pack(phaseClosed, Auto, 0, 0, last-1))
	b.next = last // to tell of
	b.streak.v.Store((last - 1) << 32)
	early, _ := b.Acquire()
	for round := range 4 {
		for range 3 {
			ticket, err := b.Acquire()
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			ticket.Report(Failure)
		}
		m.Advance(time.Second - 1)
		if s := b.Snapshot(); s.State != StateOpen || s.Reason != ReasonStreak || s.RetryAfter != time.Millisecond {
			t.Fatalf("round %d: %+v", round, s)
		}
		m.Advance(1)
		probe, err := b.Acquire()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if b.Ready() {
			t.Errorf("round %d: a second probe may go", round)
		}
		probe.Report(Success)
	}
	early.Report(Failure)
	if s := b.Snapshot(); s.State != StateClosed || s.Failed != 12 || s.Succeeded != 4 || s.Late != 1 || s.Generation != 10 {
		t.Errorf("after four rounds: %+v", s)
	}
	if len(told) != 12 {
		t.Fatalf("%d events, want 12", len(told))
	}
	for i, tr := range told {
		if tr.Generation != uint32(i)-1 {
			t.Errorf("event %d is of generation %#x", i, tr.Generation)
		}
	}
}

// A success in a closed breaker writes its counter and nothing that others
// read: not the word, not with the value it has either. The test changes bits
// of the word that nobody looks at in a closed breaker; one who stores what he
// has read before puts old ones back.
//
// Field: S189, exaring/hoglet commit 1f7cfe0 (2026-06-26: 9-43% faster without it).
func TestFieldSuccessDoesNotWriteTheWord(t *testing.T) {
	undisturbed := func(call func(*Breaker)) bool {
		b := MustNew(Config{Clock: new(clock.Manual)})
		var running atomic.Int64
		running.Store(4)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				defer running.Add(-1)
				for range 20_000 {
					call(b)
				}
			})
		}
		canary, ok := b.load(), true
		for n := 1; running.Load() > 0; n++ {
			next := pack(canary.phase(), canary.mode(), n&maxInFlight, 0, canary.generation())
			if !b.swap(canary, next) {
				ok = false // somebody wrote
				canary = b.load()
				continue
			}
			canary = next
			runtime.Gosched()
		}
		wg.Wait()
		return ok
	}
	call := func(b *Breaker) {
		ticket, err := b.Acquire()
		if err != nil {
			t.Error(err)
		}
		ticket.Report(Success)
	}
	if !undisturbed(call) {
		t.Error("a success wrote the word")
	}
	redundant := func(b *Breaker) {
		old := b.word.Load()
		runtime.Gosched() // the store of one who is slow
		call(b)
		b.word.Store(old)
	}
	if undisturbed(redundant) {
		t.Error("a store of what was there goes unnoticed")
	}
}

// Every 64-bit atomic is of a type that aligns itself, wherever the structs
// lie that hold it: on 32-bit machines a plain field need not be aligned.
//
// Field: S147, rubyist/circuitbreaker#43 and #44 (2017-03-30); bruceshao/lockfree#20
// (2023-05-15); prometheus/client_golang early changelog.
func TestFieldAtomicsAreAligned(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type, path string, offset uintptr)
	walk = func(typ reflect.Type, path string, offset uintptr) {
		switch typ.Kind() {
		case reflect.Array:
			walk(typ.Elem(), path+"[]", offset)
		case reflect.Struct:
			if typ.PkgPath() == "sync/atomic" {
				seen[typ] = true
				if bits64 := typ.Name() == "Uint64" || typ.Name() == "Int64"; bits64 && (typ.Align() != 8 || offset%8 != 0) {
					t.Errorf("%s lies at %d and is aligned to %d", path, offset, typ.Align())
				}
				return
			}
			for i := range typ.NumField() {
				f := typ.Field(i)
				walk(f.Type, path+"."+f.Name, offset+f.Offset)
			}
		}
	}
	walk(reflect.TypeFor[Breaker](), "Breaker", 0)
	walk(reflect.TypeFor[Ticket](), "Ticket", 0)
	if !seen[reflect.TypeFor[atomic.Uint64]()] || !seen[reflect.TypeFor[atomic.Int64]()] {
		t.Errorf("found only %v", seen)
	}

	// Tickets behind a bool, in whatever the user has, and many breakers.
	type call struct {
		_      bool
		ticket Ticket
	}
	m := new(clock.Manual)
	var inArray [3]call
	inSlice := make([]call, 10_000)
	inMap := map[int]*call{1: {}}
	for i := range inSlice {
		b := MustNew(Config{Clock: m})
		for _, c := range []*call{&inArray[i%3], &inSlice[i], inMap[1]} {
			c.ticket = Ticket{breaker: b, claim: claimOf(b.load())}
			if !c.ticket.Report(Failure) {
				t.Fatal("not settled")
			}
		}
		if i%1000 == 0 {
			b.Trip()
			b.Reset()
		}
		if n := b.Snapshot().Failed; n != 3 {
			t.Fatalf("%d failures counted, want 3", n)
		}
	}
}
