package peers

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

const ourModule = "github.com/atomicbreaker/breaker"

// longest is the longest duration that a breaker of ours takes.
const longest = 24 * time.Hour

// ours returns this library's subjects: the ticket, the wrapper, the question
// alone, and the ticket of a breaker at its defaults, whose streak rule has its
// own cost when calls fail.
func ours() []Subject {
	const timed = "see api=acquire"
	return []Subject{
		{
			Impl: "ours", API: "acquire", Module: ourModule,
			Build: func(job Job) Instance { return ticketInstance(matched(job)) },
			Lacks: map[Row]string{DoClosure: otherForm},
			New:   func() any { return matched(JobOf(ClosedSuccess)) },
			Use:   func(b any) { acquireDone(b.(*atomicbreaker.Breaker), nil) },
		},
		{
			Impl: "ours", API: "do", Module: ourModule,
			Build: func(job Job) Instance { return doInstance(matched(job)) },
		},
		{
			Impl: "ours", API: "ready", Module: ourModule,
			Build: func(job Job) Instance { return readyInstance(matched(job)) },
			Lacks: map[Row]string{
				ClosedSuccess: questionOnly, ClosedTenth: questionOnly, ErrorReturned: questionOnly,
				DoClosure: questionOnly, SlowTracking: questionOnly,
			},
			Unlimited: questionOnly,
		},
		{
			Impl: "ours-defaults", API: "acquire", Module: ourModule,
			Build: func(job Job) Instance {
				return ticketInstance(atomicbreaker.MustNew(atomicbreaker.Config{Cooldown: fixed(job.Cooldown), Recovery: patient}))
			},
			Lacks: map[Row]string{
				ErrorReturned: "the defaults trip", DoClosure: otherForm, SlowTracking: timed,
			},
			Unlimited: "differs from impl=ours in its trip rules only",
			New:       func() any { return atomicbreaker.MustNew(atomicbreaker.Config{}) },
			Use:       func(b any) { acquireDone(b.(*atomicbreaker.Breaker), nil) },
		},
		{
			Impl: "ours-classic", API: "acquire", Module: ourModule,
			Build: func(job Job) Instance {
				c := config(job)
				c.Recovery.Probes = 1
				return ticketInstance(atomicbreaker.MustNew(c))
			},
			Lacks: map[Row]string{
				RefusedOpen: sameAsWindow, ClosedSuccess: sameAsWindow, ClosedTenth: sameAsWindow,
				ErrorReturned: sameAsWindow, DoClosure: sameAsWindow, SlowTracking: sameAsWindow,
			},
		},
	}
}

const (
	questionOnly = "asks, claims nothing"
	sameAsWindow = "differs from impl=ours in half-open only"
)

// patient keeps a probe that is held for a whole benchmark from being joined by
// another or given up.
var patient = atomicbreaker.Recovery{Quiet: longest, ProbeTimeout: longest}

func fixed(d time.Duration) atomicbreaker.Cooldown {
	return atomicbreaker.Cooldown{Min: d, Max: d, Factor: 1, Jitter: atomicbreaker.Off}
}

func config(job Job) atomicbreaker.Config {
	c := atomicbreaker.Config{
		Window: window, Buckets: buckets, MinimumCalls: job.Minimum, FailureRate: failureRate,
		ConsecutiveFailures: atomicbreaker.Off,
		Cooldown:            fixed(job.Cooldown),
		Recovery:            patient,
	}
	if job.TrackSlow {
		c.SlowCallDuration = longest
	}
	return c
}

func matched(job Job) *atomicbreaker.Breaker { return atomicbreaker.MustNew(config(job)) }

// acquireDone is the whole use of a ticket. It is small enough to be inlined, so
// that the ticket stays on the caller's stack.
func acquireDone(b *atomicbreaker.Breaker, err error) bool {
	t, refused := b.Acquire()
	if refused != nil {
		return false
	}
	t.Done(context.Background(), err)
	return true
}

func ticketInstance(b *atomicbreaker.Breaker) Instance {
	return Instance{
		Success: func() bool { return acquireDone(b, nil) },
		Failure: func() bool { return acquireDone(b, errFailed) },
		Probe: func(body func()) bool {
			t, refused := b.Acquire()
			if refused != nil {
				return false
			}
			body()
			t.Done(context.Background(), errFailed)
			return true
		},
	}
}

func doInstance(b *atomicbreaker.Breaker) Instance {
	ctx := context.Background()
	succeed := func(context.Context) error { return nil }
	fail := func(context.Context) error { return errFailed }
	return Instance{
		Success: func() bool { return b.Do(ctx, succeed) == nil },
		Failure: func() bool { return b.Do(ctx, fail) == errFailed },
		Closure: func() bool {
			ran := false
			err := b.Do(ctx, func(context.Context) error { ran = true; return nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			return b.Do(ctx, func(context.Context) error { body(); return errFailed }) == errFailed
		},
	}
}

func readyInstance(b *atomicbreaker.Breaker) Instance {
	in := ticketInstance(b)
	in.Success = b.Ready
	trips := in.Failure
	in.Failure = func() bool {
		// Only a breaker that is still to be tripped gets past the question.
		return b.Ready() && trips()
	}
	return in
}
