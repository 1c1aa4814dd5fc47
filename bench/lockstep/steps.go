package lockstep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// stepLen is the number of bytes of one operation.
const stepLen = 3

type stepKind uint8

const (
	acquire stepKind = iota // count tickets
	settle                  // one ticket, old or new, perhaps settled already
	call                    // count times acquire and settle
	do                      // the same through Do
	landAll                 // settle whatever is not settled
	advance                 // the clock
	toTimer                 // to the next timer, or just before or after it
	ask                     // everything, count times
	trip
	reset
	setMode
)

var stepNames = [...]string{"acquire", "settle", "call", "do", "land all", "advance", "advance to timer", "ask", "trip", "reset", "set mode"}

// step is one operation.
type step struct {
	kind     stepKind
	count    int
	which    int
	how      ending
	inside   inside
	duration time.Duration
	mode     atomicbreaker.Mode
}

func (s step) String() string {
	text := stepNames[s.kind]
	switch s.kind {
	case acquire, ask:
		text += fmt.Sprintf(" x%d", s.count)
	case settle:
		text += fmt.Sprintf(" the latest but %d: %v", s.which, s.how)
	case call:
		text += fmt.Sprintf(" x%d: %v", s.count, s.how)
	case do:
		text += fmt.Sprintf(": %v, %v", s.inside, s.how)
	case landAll:
		text += fmt.Sprintf(": %v", s.how)
	case advance, toTimer:
		text += fmt.Sprintf(" %v", s.duration)
	case setMode:
		text += fmt.Sprintf(" %v", s.mode)
	}
	return text
}

// often says how often each operation comes up, in 64ths.
var often = [...]struct {
	kind  stepKind
	times int
}{{acquire, 10}, {settle, 14}, {call, 10}, {do, 5}, {landAll, 2}, {advance, 9}, {toTimer, 7}, {ask, 1}, {trip, 2}, {reset, 1}, {setMode, 3}}

var durations = [...]time.Duration{0, 1, ms - 1, ms, 10 * ms, 50 * ms, 100 * ms, 200*ms - 1, 200 * ms, 500 * ms, sec - 1, sec, 3 * sec, 10 * sec, 31 * sec}

// decode reads operations. A broken one at the end is left out.
func decode(program []byte) []step {
	var steps []step
	for ; len(program) >= stepLen; program = program[stepLen:] {
		steps = append(steps, decodeStep(program[0], int(program[1]), int(program[2])))
	}
	return steps
}

func decodeStep(kind byte, a, b int) step {
	var s step
	at := int(kind % 64)
	for _, o := range often {
		if s.kind = o.kind; at < o.times {
			break
		}
		at -= o.times
	}
	few := 1 + a%4
	if a >= 192 {
		few = 1 + a%24
	}
	switch s.kind {
	case acquire, ask:
		s.count = few
	case settle:
		s.how = ending(b) % endings
		if s.which = a % maxTickets; a < 128 {
			s.which = a % 4
		}
	case call:
		s.count, s.how = few, ending(b)%endings
		if s.how == reportUnknown { // would end the series
			s.how = reportFailure
		}
	case do:
		s.inside, s.how = inside(a)%insides, ending(b)%(doneUnknown+1)
	case landAll:
		s.how = []ending{reportSuccess, reportFailure, cancel}[b%3]
	case advance:
		s.duration = durations[a%len(durations)]
		if b >= 192 {
			s.duration += time.Duration(b) * 997 * us
		}
	case toTimer:
		s.duration = []time.Duration{0, -1, 1}[a%3]
	case setMode:
		s.mode = atomicbreaker.Mode(a % 5)
		if b < 128 && s.mode != atomicbreaker.Shadow { // mostly a mode in which there is something to see
			s.mode = atomicbreaker.Auto
		}
	}
	return s
}

// ending is how a ticket is settled.
type ending uint8

const (
	doneNil ending = iota
	donePlain
	doneBenign
	doneNeutral
	doneRefused // with the refusal of another breaker
	doneCancelled
	doneJoined   // with the same beside a failure
	doneRefusals // with two of them
	doneHollow   // with an error whose Unwrap panics
	donePanics
	doneUnknown // the last that Do knows too
	reportSuccess
	reportFailure
	reportIgnored
	reportUnknown
	reportAfterShort
	reportAfterLong
	reportAfterNegative
	cancel
	doneNil2 // the common ones again
	donePlain2
	donePlain3
	endings
)

var endingNames = [...]string{
	"Done(nil)", "Done(plain)", "Done(benign)", "Done(neutral)", "Done(another's refusal)", "Done(plain) after a cancellation",
	"Done(a refusal and plain)", "Done(two refusals)", "Done(hollow)", "Done(panics)", "Done(unknown)", "Report(Success)", "Report(Failure)", "Report(Ignored)", "Report(9)",
	"ReportAfter(Failure, 700ms)", "ReportAfter(Failure, 1m)", "ReportAfter(Failure, -1s)", "Cancel()", "Done(nil)", "Done(plain)", "Done(plain)",
}

func (e ending) String() string { return endingNames[e] }

// apply settles a ticket.
func (e ending) apply(t Ticket) bool {
	switch e {
	case doneNil, doneNil2:
		return t.Done(context.Background(), nil)
	case doneCancelled:
		return t.Done(cancelled, errPlain)
	case reportSuccess:
		return t.Report(atomicbreaker.Success)
	case reportFailure:
		return t.Report(atomicbreaker.Failure)
	case reportIgnored:
		return t.Report(atomicbreaker.Ignored)
	case reportUnknown:
		return t.Report(9)
	case reportAfterShort:
		return t.ReportAfter(atomicbreaker.Failure, 700*ms)
	case reportAfterLong:
		return t.ReportAfter(atomicbreaker.Failure, time.Minute)
	case reportAfterNegative:
		return t.ReportAfter(atomicbreaker.Failure, -sec)
	case cancel:
		return t.Cancel()
	default:
		return t.Done(context.Background(), e.err())
	}
}

// err is the error that a function given to Do returns for it.
func (e ending) err() error {
	switch e {
	case donePlain, donePlain2, donePlain3, doneCancelled:
		return errPlain
	case doneBenign:
		return errBenign
	case doneNeutral:
		return errNeutral
	case doneRefused:
		return refusal
	case doneJoined:
		return errors.Join(refusal, errPlain)
	case doneRefusals:
		return errors.Join(refusal, refusal)
	case doneHollow:
		return hollow{}
	case donePanics:
		return errPanics
	case doneUnknown:
		return errUnknown
	default:
		return nil
	}
}

// cancelled is a context whose owner has left, and refusal what another
// breaker says.
var cancelled, refusal = func() (context.Context, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	other := atomicbreaker.MustNew(atomicbreaker.Config{Mode: atomicbreaker.ForcedOpen, Clock: new(clock.Manual)}) //breakervet:ignore it is made for its refusal
	_, err := other.Acquire()                                                                                      //breakervet:ignore it refuses
	return ctx, fmt.Errorf("elsewhere: %w", err)
}()

// hollow is an error whose own method panics.
type hollow struct{}

func (hollow) Error() string { return "hollow" }
func (hollow) Unwrap() error { panic(panicValue("Unwrap")) }

// inside is what happens within Do.
type inside uint8

const (
	returns inside = iota
	panics
	exits
	takesTime
	isCancelled
	wasCancelled
	nests
	resets
	insides
)

var insideNames = [...]string{"f returns", "f panics", "f exits its goroutine", "f takes 250 ms", "the caller leaves meanwhile", "the caller has left before", "f acquires", "f calls Reset"}

func (i inside) String() string { return insideNames[i] }

// call runs Do on a goroutine of its own, which f may end.
func (p *player) call(s step, a *answer) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if s.inside == wasCancelled {
		leave()
	}
	var panicked any
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer func() { panicked = recover() }()
		err := p.b.Do(ctx, func(inner context.Context) error {
			p.admitted++
			a.ok++
			_, bounded := inner.Deadline()
			a.inner += fmt.Sprintf("the caller's %v, bounded %v;", inner == ctx, bounded)
			p.inside(s.inside, leave, a)
			return s.how.err()
		})
		if err != nil {
			a.refuse(err)
			if a.ok == 0 && s.inside != wasCancelled {
				p.refused++
			}
		}
	}()
	<-finished
	if panicked != nil {
		panic(panicked)
	}
}

func (p *player) inside(i inside, leave context.CancelFunc, a *answer) {
	switch i {
	case panics:
		panic(panicValue("f"))
	case exits:
		runtime.Goexit()
	case takesTime:
		p.clock.Advance(250 * ms)
	case isCancelled:
		leave()
	case nests:
		p.acquire(a)
	case resets:
		p.b.Reset()
	}
}
