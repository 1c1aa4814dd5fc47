package peers

import (
	"context"

	"github.com/atomicbreaker/breaker/bench/locked"
)

// twins returns our breaker's semantics behind a lock.
func twins() []Subject {
	lacks := func(other string) map[Row]string { return map[Row]string{DoClosure: other} }
	const stress = "its probes are the subject of package locked's own tests"
	return []Subject{
		{
			Impl: "mutex", API: "acquire", Module: ourModule,
			Build:     func(job Job) Instance { return mutexTicket(mutexTwin(job)) },
			Lacks:     lacks(otherForm),
			Unlimited: stress,
			New:       func() any { return mutexTwin(JobOf(ClosedSuccess)) },
			Use: func(b any) {
				if t, refused := b.(*locked.Mutex).Acquire(); refused == nil {
					t.Done(context.Background(), nil)
				}
			},
		},
		{
			Impl: "mutex", API: "do", Module: ourModule,
			Build:     func(job Job) Instance { return mutexDo(mutexTwin(job)) },
			Unlimited: stress,
		},
		{
			Impl: "rwmutex", API: "acquire", Module: ourModule,
			Build:     func(job Job) Instance { return rwMutexTicket(rwMutexTwin(job)) },
			Lacks:     lacks(otherForm),
			Unlimited: stress,
		},
	}
}

func mutexTwin(job Job) *locked.Mutex     { return must(locked.NewMutex(config(job))) }
func rwMutexTwin(job Job) *locked.RWMutex { return must(locked.NewRWMutex(config(job))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the configuration is one that ours takes
	}
	return v
}

func mutexTicket(b *locked.Mutex) Instance {
	call := func(err error) bool {
		t, refused := b.Acquire()
		if refused != nil {
			return false
		}
		t.Done(context.Background(), err)
		return true
	}
	return Instance{
		Success: func() bool { return call(nil) },
		Failure: func() bool { return call(errFailed) },
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

func rwMutexTicket(b *locked.RWMutex) Instance {
	call := func(err error) bool {
		t, refused := b.Acquire()
		if refused != nil {
			return false
		}
		t.Done(context.Background(), err)
		return true
	}
	return Instance{
		Success: func() bool { return call(nil) },
		Failure: func() bool { return call(errFailed) },
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

func mutexDo(b *locked.Mutex) Instance {
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
