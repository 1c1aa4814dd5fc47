package linear

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/lockstep"
	"github.com/atomicbreaker/breaker/clock"
)

// recorder drives one breaker and writes down what happens.
type recorder struct {
	b     lockstep.Breaker
	m     *clock.Manual
	rule  rule
	yield func() // between the calls of a client

	ticks atomic.Int64 // orders beginnings and ends

	mu      sync.Mutex
	ops     []porcupine.Operation
	tickets int
	out     []held // to be settled
	done    []held // settled: a second time must do nothing
}

type held struct {
	id int
	t  lockstep.Ticket
}

// yieldingClock gives the processor away, by chance, at each reading: between
// the reading of the breaker's word and the change of it.
type yieldingClock struct {
	*clock.Manual
	yield func()
}

func (c yieldingClock) Now() time.Duration {
	c.yield()
	return c.Manual.Now()
}

func newRecorder(impl lockstep.Implementation, r rule, yield func()) (*recorder, error) {
	rec := &recorder{m: new(clock.Manual), rule: r, yield: yield}
	c := r.config()
	c.Clock = yieldingClock{rec.m, yield}
	b, err := impl.New(c)
	rec.b = b
	return rec, err
}

// call runs f and records the steps of its call.
func (r *recorder) call(client int, in input, acts []action, f func() output) {
	in.client = client
	in.at = r.m.Now()
	begin := r.ticks.Add(1)
	out := f()
	end := r.ticks.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, act := range acts {
		in.act = act
		r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: begin, Return: end})
	}
}

func (r *recorder) acquire(client int) {
	r.mu.Lock()
	id := r.tickets
	if id == maxTickets {
		r.mu.Unlock()
		return
	}
	r.tickets++
	r.mu.Unlock()
	var t lockstep.Ticket
	var ok bool
	r.call(client, input{ticket: id}, []action{actAdmit}, func() output {
		var err error
		t, err = r.b.Acquire()
		ok = err == nil
		return output{answer: answerOf(err)}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok {
		r.out = append(r.out, held{id, t})
	}
}

func answerOf(err error) answer {
	switch {
	case err == nil:
		return admitted
	case errors.Is(err, atomicbreaker.ErrForced):
		return refusedForced
	case errors.Is(err, atomicbreaker.ErrProbeLimit):
		return refusedProbe
	default:
		return refusedOpen
	}
}

// take draws a ticket out of one of the lists.
func (r *recorder) take(from *[]held, rnd *rand.Rand) (held, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(*from) == 0 {
		return held{}, false
	}
	i := rnd.IntN(len(*from))
	h := (*from)[i]
	*from = append((*from)[:i:i], (*from)[i+1:]...)
	return h, true
}

func (r *recorder) settle(client int, h held, how settling) {
	acts := []action{actJudge, actTake}
	switch {
	case how == ignore || how == cancel:
		acts = []action{actBack}
	case how == succeed && r.rule.probes == 0:
		acts = []action{actLook, actJudge, actTake}
	}
	r.call(client, input{ticket: h.id, outcome: how}, acts, func() output { return output{yes: settle(h.t, how)} })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, h)
}

func settle(t lockstep.Ticket, how settling) bool {
	switch how {
	case cancel:
		return t.Cancel()
	case ignore:
		return t.Report(atomicbreaker.Ignored)
	case fail:
		return t.Report(atomicbreaker.Failure)
	default:
		return t.Report(atomicbreaker.Success)
	}
}

func (r *recorder) advance(client int, d time.Duration, timers int) {
	acts := []action{actTimerBefore, actMove}
	for range timers - 1 {
		acts = append(acts, actTimer)
	}
	acts = append(acts, actTimerLast)
	r.call(client, input{d: d}, acts, func() output { r.m.Advance(d); return output{} })
}

func (r *recorder) snapshot(client int, act action) {
	r.call(client, input{}, []action{act}, func() output { return output{shown: r.b.Snapshot()} })
}

// worker makes n calls drawn from a seed.
func (r *recorder) worker(client, n int, rnd *rand.Rand) {
	for range n {
		switch p := rnd.IntN(100); {
		case p < 36:
			r.acquire(client)
		case p < 74:
			if h, ok := r.take(&r.out, rnd); ok {
				how := [...]settling{succeed, succeed, succeed, fail, fail, fail, ignore, cancel}[rnd.IntN(8)]
				r.settle(client, h, how)
			} else {
				r.acquire(client)
			}
		case p < 78:
			if h, ok := r.take(&r.done, rnd); ok {
				r.call(client, input{ticket: h.id}, []action{actAgain}, func() output { return output{yes: settle(h.t, succeed)} })
			}
		case p < 83:
			r.call(client, input{}, []action{actTrip}, func() output { r.b.Trip(); return output{} })
		case p < 86:
			r.call(client, input{}, []action{actReset}, func() output { r.b.Reset(); return output{} })
		case p < 90:
			r.setMode(client, atomicbreaker.Mode(rnd.IntN(4)))
		case p < 92:
			r.call(client, input{}, []action{actReady}, func() output { return output{yes: r.b.Ready()} })
		case p < 94:
			r.call(client, input{}, []action{actState}, func() output { return output{shown: atomicbreaker.Snapshot{State: r.b.State()}} })
		default:
			r.snapshot(client, actSnapshot)
		}
		r.yield()
	}
}

func (r *recorder) setMode(client int, m atomicbreaker.Mode) {
	r.call(client, input{mode: m}, []action{actForget, actSet}, func() output { r.b.SetMode(m); return output{} })
}

// time is the client that moves the clock.
func (r *recorder) time(client, n int, rnd *rand.Rand) {
	for range n {
		r.advance(client, time.Duration(rnd.IntN(4))*unit, 3)
		if rnd.IntN(3) == 0 {
			r.snapshot(client, actSnapshot)
		}
		r.yield()
	}
}

// prepare brings the breaker into one of its states, in a history's own words.
func (r *recorder) prepare(rnd *rand.Rand) {
	switch rnd.IntN(4) {
	case 0: // closed
	case 1:
		r.call(0, input{}, []action{actTrip}, func() output { r.b.Trip(); return output{} })
	default:
		r.call(0, input{}, []action{actTrip}, func() output { r.b.Trip(); return output{} })
		r.advance(0, cooldown, 1)
		r.acquire(0)
	}
}

// finish brings the breaker to rest. Half of the tickets are never settled.
func (r *recorder) finish(rnd *rand.Rand) {
	r.setMode(0, atomicbreaker.Auto)
	for {
		h, ok := r.take(&r.out, rnd)
		if !ok {
			break
		}
		if rnd.IntN(2) == 0 {
			r.settle(0, h, settling(rnd.IntN(4)))
		}
	}
	for range 12 {
		r.advance(0, 2*unit, 2)
	}
	r.snapshot(0, actRest)
}

// patience is how long to look for an order. Nearly every history has a verdict
// within milliseconds; now and then one takes minutes, because so many orders
// are possible.
const patience = 3 * time.Second

var errUndecided = fmt.Errorf("no verdict within %v", patience)

// verdicts counts histories. A few without a verdict are no fault; many would
// mean that nothing is checked.
type verdicts struct{ decided, undecided int }

// add returns the error of a history that has no explanation.
func (v *verdicts) add(err error) error {
	if errors.Is(err, errUndecided) {
		v.undecided++
		return nil
	}
	v.decided++
	return err
}

func (v *verdicts) enough() bool { return v.decided >= 49*v.undecided }

func (v *verdicts) String() string {
	return fmt.Sprintf("%d histories (%d more without a verdict)", v.decided, v.undecided)
}

// check reports whether the history has an order that the model explains.
func (r *recorder) check() error {
	switch porcupine.CheckOperationsTimeout(r.rule.Model(), r.ops, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return errUndecided
	}
	var text strings.Builder
	for _, op := range r.ops {
		fmt.Fprintf(&text, "\n%4d to %4d  client %d  at %v  %s", op.Call, op.Return, op.ClientId,
			op.Input.(input).at, describe(op.Input.(input), op.Output.(output)))
	}
	return fmt.Errorf("no order of these calls explains their answers:%s", text.String())
}

// overlaps counts pairs of calls of different clients that overlapped in time.
func (r *recorder) overlaps() (n int) {
	for i, a := range r.ops {
		for _, b := range r.ops[:i] {
			if a.ClientId != b.ClientId && a.Call < b.Return && b.Call < a.Return {
				n++
			}
		}
	}
	return n
}
