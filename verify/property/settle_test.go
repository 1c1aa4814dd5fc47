package property

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// says is what user code answers when a breaker asks it.
type says int

const (
	saysNo says = iota
	saysYes
	saysPanic  // or ends the goroutine: nothing after it runs
	saysGoexit // the same, without a value to recover
)

func (s says) ends() bool { return s == saysPanic || s == saysGoexit }

// end does it.
func (s says) end() {
	if s == saysPanic {
		panic(errFailed)
	}
	runtime.Goexit()
}

// An odd error has methods that lie, panic or never end.
type odd struct {
	name   string
	text   says
	unwrap func() error
	is     says
}

func (o *odd) Error() string {
	if o.text.ends() {
		o.text.end()
	}
	return o.name
}
func (o *odd) Unwrap() error   { return o.unwrap() }
func (o *odd) Is(error) bool   { return o.claims() }
func (o *odd) As(any) bool     { return o.claims() }
func (o *odd) Timeout() bool   { return o.claims() }
func (o *odd) Temporary() bool { return o.claims() }
func (o *odd) claims() bool {
	if o.is.ends() {
		o.is.end()
	}
	return o.is == saysYes
}

// several is an error of any parts, also none and nil ones.
type several []error

func (several) Error() string     { return "several" }
func (s several) Unwrap() []error { return s }

var elsewhere = func() error {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Mode: atomicbreaker.ForcedOpen, Clock: new(clock.Manual)})
	_, err := b.Acquire()
	return err
}()

// drawError draws an error and whether it is a refusal: yes, no, or its
// methods end the caller before that is known.
func drawError(t *rapid.T, depth int) (says, error) {
	kinds := 10
	if depth > 0 {
		kinds = 15
	}
	none := func() error { return nil }
	switch rapid.IntRange(0, kinds-1).Draw(t, "error") {
	case 0:
		return saysNo, errFailed
	case 1, 2:
		return saysYes, elsewhere
	case 3:
		typedNils := []error{(*net.OpError)(nil), (*url.Error)(nil), (*fs.PathError)(nil), (*odd)(nil)}
		return saysPanic, rapid.SampledFrom(typedNils).Draw(t, "typed nil")
	case 4:
		end := rapid.SampledFrom([]says{saysPanic, saysGoexit}).Draw(t, "Unwrap")
		return end, &odd{unwrap: func() error { end.end(); return nil }}
	case 5:
		end := rapid.SampledFrom([]says{saysPanic, saysGoexit}).Draw(t, "Error, Is and As")
		return saysNo, &odd{unwrap: none, text: end, is: end}
	case 6:
		return saysNo, &odd{unwrap: none, is: saysYes}
	case 7:
		o := new(odd)
		o.unwrap = func() error { return o }
		s := several{elsewhere, nil}
		s[1] = s
		return saysNo, rapid.SampledFrom([]error{o, s}).Draw(t, "ring")
	case 8:
		return saysNo, rapid.SampledFrom([]error{several{}, several{nil}, several{elsewhere, nil}, (*atomicbreaker.RejectedError)(nil), atomicbreaker.ErrOpen, atomicbreaker.ErrRejected}).Draw(t, "empty")
	case 9:
		err := elsewhere
		for range 2000 {
			err = fmt.Errorf("%w", err)
		}
		return saysNo, err
	case 10, 11:
		is, err := drawError(t, depth-1)
		return is, &odd{unwrap: func() error { return err }, is: rapid.SampledFrom([]says{saysNo, saysYes, saysPanic}).Draw(t, "Is")}
	default:
		all, is := several(nil), saysYes
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			part, err := drawError(t, depth-1)
			all = append(all, err)
			if is == saysYes {
				is = part
			}
		}
		return is, all
	}
}

// script is a context whose Err gives one answer after the other, the last
// again and again. A nil answer is "not done".
type script struct {
	context.Context
	answers []answer
	asked   int
}

type answer struct {
	err  error
	ends says
}

func (s *script) Err() error {
	a := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	if a.ends != saysNo {
		a.ends.end()
	}
	return a.err
}

func drawScript(t *rapid.T) *script {
	answers := []answer{{}, {}, {}, {err: context.Canceled}, {err: context.DeadlineExceeded}, {ends: saysPanic}, {ends: saysGoexit}}
	one := rapid.SampledFrom(answers)
	return &script{Context: context.Background(), answers: []answer{one.Draw(t, "first"), one.Draw(t, "then")}}
}

// subject is a breaker in some state, in which one call is admitted.
type subject struct {
	name    string
	config  atomicbreaker.Config
	prepare func(*atomicbreaker.Breaker, *clock.Manual)
}

func trip(b *atomicbreaker.Breaker, _ *clock.Manual) { b.Trip() }

func probe(b *atomicbreaker.Breaker, m *clock.Manual) { b.Trip(); m.Advance(b.RetryAfter()) }

var subjects = []subject{
	{"closed", atomicbreaker.Config{}, nil},
	{"timed", atomicbreaker.Config{SlowCallDuration: time.Second}, nil},
	{"last calls", atomicbreaker.Config{WindowCalls: 10}, nil},
	{"forced closed", atomicbreaker.Config{Mode: atomicbreaker.ForcedClosed}, nil},
	{"half-open", atomicbreaker.Config{}, probe},
	{"classic half-open", atomicbreaker.Config{Recovery: atomicbreaker.Recovery{Probes: 2}}, probe},
	{"half-open in shadow", atomicbreaker.Config{Mode: atomicbreaker.Shadow}, probe},
	{"would be refused", atomicbreaker.Config{Mode: atomicbreaker.Shadow}, trip},
}

// verdict is what a judge, which Classify is too, makes of a call.
type verdict struct {
	outcome atomicbreaker.Outcome
	ends    says
}

func (v verdict) say() atomicbreaker.Outcome {
	if v.ends != saysNo {
		v.ends.end()
	}
	return v.outcome
}

// books is what a call must have done.
type books struct {
	outcome string // succeeded, failed, ignored or nothing
	ends    bool
}

func (v verdict) books() books {
	switch {
	case v.ends != saysNo, v.outcome > atomicbreaker.Local:
		return books{"failed", true}
	case v.outcome == atomicbreaker.Success:
		return books{"succeeded", false}
	case v.outcome >= atomicbreaker.Ignored:
		return books{"ignored", false}
	}
	return books{"failed", false}
}

// settling is one call with everything that can go wrong in it.
type settling struct {
	way     string
	ctx     *script // nil is the nil context
	err     error
	refusal says
	judge   *verdict
}

// want is what the call must do, said a second time and in order.
func (s *settling) want() books {
	byDo := s.way != "Done"
	if byDo {
		switch first := s.ctx.answers[0]; {
		case first.ends != saysNo:
			return books{"nothing", true}
		case first.err != nil:
			return books{"nothing", false}
		}
	}
	judged := s.judge != nil && (s.err != nil || s.way == "DoWith")
	if s.err != nil {
		if s.ctx == nil {
			return books{"failed", true}
		}
		now := s.ctx.answers[0]
		if byDo {
			now = s.ctx.answers[1]
		}
		switch {
		case s.refusal == saysYes:
			return books{"ignored", false}
		case s.refusal.ends(), now.ends != saysNo:
			return books{"failed", true}
		case now.err == context.Canceled: // after no time
			return books{"ignored", false}
		case now.err != nil: // nothing is known of what is usual
			return books{"failed", false}
		case !judged:
			return books{"failed", false}
		}
	}
	if judged {
		return s.judge.books()
	}
	return books{"succeeded", false}
}

// do makes the call.
func (s *settling) do(b *atomicbreaker.Breaker) {
	switch s.way {
	case "Do":
		_ = b.Do(s.ctx, func(context.Context) error { return s.err })
	case "Do of a value":
		_, _ = atomicbreaker.Do(s.ctx, b, func(context.Context) (int, error) { return 1, s.err })
	case "DoWith":
		judge := func(int, error) atomicbreaker.Outcome { return s.judge.say() }
		_, _ = atomicbreaker.DoWith(s.ctx, b, judge, func(context.Context) (int, error) { return 1, s.err })
	default:
		ticket, _ := b.Acquire()
		var ctx context.Context
		if s.ctx != nil {
			ctx = s.ctx
		}
		defer func() {
			if ticket.Report(atomicbreaker.Success) {
				panic("Done has not settled the ticket")
			}
		}()
		ticket.Done(ctx, s.err)
	}
}

func drawSettling(t *rapid.T) *settling {
	s := &settling{way: rapid.SampledFrom([]string{"Do", "Do of a value", "DoWith", "Done"}).Draw(t, "way"), ctx: drawScript(t)}
	if s.way == "Done" && rapid.IntRange(0, 7).Draw(t, "nil context") == 0 {
		s.ctx = nil
	}
	if rapid.IntRange(0, 4).Draw(t, "succeeds") > 0 {
		s.refusal, s.err = drawError(t, 3)
	}
	if s.way == "DoWith" || rapid.Bool().Draw(t, "Classify") {
		s.judge = &verdict{
			outcome: atomicbreaker.Outcome(rapid.IntRange(0, 4).Draw(t, "judged")),
			ends:    rapid.SampledFrom([]says{saysNo, saysNo, saysNo, saysPanic, saysGoexit}).Draw(t, "judge ends"),
		}
	}
	return s
}

// ended runs f on a goroutine of its own and reports whether it did not return.
func ended(f func()) bool {
	done := make(chan bool)
	go func() {
		returned := false
		defer func() { _ = recover(); done <- !returned }()
		f()
		returned = true
	}()
	return <-done
}

// TestHostileSettlingKeepsTheBooks: whatever the methods of errors and contexts
// and the user's functions do, a ticket is counted once, no place stays taken,
// and who panics is not silenced.
func TestHostileSettlingKeepsTheBooks(t *testing.T) {
	for _, x := range subjects {
		t.Run(x.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := drawSettling(t)
				m := new(clock.Manual)
				c := x.config
				c.Clock = m
				if s.judge != nil && s.way != "DoWith" {
					c.Classify = func(error) atomicbreaker.Outcome { return s.judge.say() }
				}
				b := atomicbreaker.MustNew(c)
				if x.prepare != nil {
					x.prepare(b, m)
				}
				want := s.want()
				if ends := ended(func() { s.do(b) }); ends != want.ends {
					t.Errorf("it returned: %v, want %v", !ends, !want.ends)
				}
				after := b.Snapshot()
				counts := map[string]uint64{"succeeded": after.Succeeded, "failed": after.Failed, "ignored": after.Ignored, "late": after.Late, "cancelled": after.Cancelled}
				for outcome, n := range counts {
					if (outcome == want.outcome) != (n == 1) || n > 1 {
						t.Errorf("%d %s, want one %s", n, outcome, want.outcome)
					}
				}
				if after.ProbesInFlight != 0 {
					t.Errorf("%d probes in flight at the end", after.ProbesInFlight)
				}
			})
		})
	}
}

// TestIsRejectedAgreesWithSettling, of any error.
func TestIsRejectedAgreesWithSettling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, err := drawError(t, 4)
		var got bool
		if ends := ended(func() { got = atomicbreaker.IsRejected(err) }); ends != want.ends() || got != (want == saysYes) {
			t.Errorf("IsRejected said %v, ended %v, want %v", got, ends, want)
		}
	})
}

// TestEveryRefusalIsErrRejected in every state that refuses.
func TestEveryRefusalIsErrRejected(t *testing.T) {
	for name, refuses := range map[string]struct {
		mode    atomicbreaker.Mode
		prepare func(*atomicbreaker.Breaker, *clock.Manual)
		kinds   []error
	}{
		"open":     {atomicbreaker.Auto, trip, []error{atomicbreaker.ErrOpen}},
		"no place": {atomicbreaker.Auto, func(b *atomicbreaker.Breaker, m *clock.Manual) { probe(b, m); acquire(b) }, []error{atomicbreaker.ErrProbeLimit}},
		"forced":   {atomicbreaker.ForcedOpen, func(*atomicbreaker.Breaker, *clock.Manual) {}, []error{atomicbreaker.ErrForced, atomicbreaker.ErrOpen}},
	} {
		m := new(clock.Manual)
		b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: m, Mode: refuses.mode})
		refuses.prepare(b, m)
		_, err := b.Acquire()
		err = fmt.Errorf("wrapped: %w", err)
		if !atomicbreaker.IsRejected(err) || !errors.Is(err, atomicbreaker.ErrRejected) {
			t.Errorf("%s: %v is no refusal", name, err)
		}
		for _, kind := range []error{atomicbreaker.ErrOpen, atomicbreaker.ErrProbeLimit, atomicbreaker.ErrForced} {
			want := false
			for _, k := range refuses.kinds {
				want = want || k == kind
			}
			if errors.Is(err, kind) != want {
				t.Errorf("%s: Is %v: %v, want %v", name, kind, !want, want)
			}
		}
	}
}
