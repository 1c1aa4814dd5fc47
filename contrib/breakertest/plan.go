package breakertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Always, as the number of calls of a [Step], is all that are still to come.
const Always = math.MaxInt

// Step is what a [Plan] does to some calls. Make one with [Pass], [Fail],
// [Refuse], [Hang], [Panic], [Respond] or [CutBody].
type Step struct {
	calls int
	delay time.Duration
	do    func(ctx context.Context) error // the call's error; nil: the call goes on
	write func(*http.Request) *http.Response
}

// Pass lets so many calls through.
func Pass(calls int) Step { return Step{calls: calls} }

// Fail makes so many calls fail with err: they do not get through.
func Fail(calls int, err error) Step {
	if err == nil {
		panic("breakertest: Fail got a nil error")
	}
	return Step{calls: calls, do: func(context.Context) error { return err }}
}

// Refuse makes so many calls fail with the refusal of a breaker, as if there was one:
// an *atomicbreaker.RejectedError that is kind, one of ErrOpen, ErrProbeLimit and ErrForced.
func Refuse(calls int, kind error) Step {
	start := ForcedOpen
	switch kind {
	case atomicbreaker.ErrOpen:
		start = Open
	case atomicbreaker.ErrProbeLimit:
		start = ProbesFull
	case atomicbreaker.ErrForced:
	default:
		panic(fmt.Sprintf("breakertest: Refuse got %v, want ErrOpen, ErrProbeLimit or ErrForced", kind))
	}
	b := New(panics{}, start, atomicbreaker.Config{Name: "planned refusal"})
	_, err := b.Acquire() //breakervet:ignore it refuses
	return Fail(calls, err)
}

// Hang makes so many calls wait for the end of their context, and return its error.
// One whose context cannot end fails at once, and says so.
func Hang(calls int) Step {
	return Step{calls: calls, do: func(ctx context.Context) error {
		if ctx.Done() == nil {
			return errors.New("breakertest: Hang: the context of the call never ends: give it a deadline")
		}
		<-ctx.Done()
		return ctx.Err()
	}}
}

// Panic makes so many calls panic with v.
func Panic(calls int, v any) Step {
	return Step{calls: calls, do: func(context.Context) error { panic(v) }}
}

// Respond answers so many HTTP requests with a status and a header, which may be nil,
// and no body. It is for [Plan.RoundTripper] only; every other call fails.
func Respond(calls, status int, header http.Header) Step {
	if status < 100 || status > 599 {
		panic(fmt.Sprintf("breakertest: Respond got the status %d, want 100 to 599", status))
	}
	return Step{calls: calls, write: func(req *http.Request) *http.Response {
		return response(req, status, header.Clone(), http.NoBody)
	}}
}

// CutBody answers so many HTTP requests with 200 and a body that breaks off after this
// text, with io.ErrUnexpectedEOF. It is for [Plan.RoundTripper] only; every other call fails.
func CutBody(calls int, text string) Step {
	return Step{calls: calls, write: func(req *http.Request) *http.Response {
		return response(req, http.StatusOK, nil, &cutBody{rest: text})
	}}
}

// After makes each call of the step slow: what is to happen to it happens d later.
func (s Step) After(d time.Duration) Step {
	if d < 0 {
		panic(fmt.Sprintf("breakertest: After got %v, want 0 or more", d))
	}
	s.delay = d
	return s
}

// Plan says what happens to each call, in the order in which they come. It may
// be used concurrently.
type Plan struct {
	sleep func(context.Context, time.Duration) error

	mu    sync.Mutex
	steps []Step // what is left
	calls int
}

// NewPlan makes a plan of steps. Calls that come after the last one pass. A delay
// sleeps for the time of package time, until the call's context ends: in a test use
// it inside of a testing/synctest bubble, or see [Breaker.Plan].
func NewPlan(steps ...Step) *Plan {
	for i, s := range steps {
		if s.calls < 1 {
			panic(fmt.Sprintf("breakertest: step %d of the plan is for %d calls, want 1 or more", i+1, s.calls))
		}
	}
	return &Plan{steps: append([]Step(nil), steps...), sleep: sleep}
}

// Plan makes a plan whose delays move the breaker's clock, see [Breaker.Advance]:
// a call that takes a second takes a second for the breaker, and none for the test.
// On a [clock.Manual] the contexts of calls, which know nothing of that clock, do not end.
func (b *Breaker) Plan(steps ...Step) *Plan {
	p := NewPlan(steps...)
	if b.manual != nil {
		p.sleep = func(_ context.Context, d time.Duration) error { b.Advance(d); return nil }
	}
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Calls returns how many calls have come.
func (p *Plan) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// WantUsed fails the test if calls are missing that the plan has steps for, those for
// [Always] left out.
func (p *Plan) WantUsed(t TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	left := 0
	for _, s := range p.steps {
		if s.calls != Always {
			left += s.calls
		}
	}
	if left > 0 {
		t.Errorf("%d calls came, and the plan is for %d more", p.calls, left)
	}
}

// next takes the step of one call.
func (p *Plan) next() Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if len(p.steps) == 0 {
		return Step{}
	}
	s := p.steps[0]
	if s.calls != Always {
		if p.steps[0].calls--; p.steps[0].calls == 0 {
			p.steps = p.steps[1:]
		}
	}
	return s
}

// begin does to a call what the plan says. With a nil error the call goes on, or
// is answered by the step's write.
func (p *Plan) begin(ctx context.Context) (Step, error) {
	s := p.next()
	if err := p.sleep(ctx, s.delay); err != nil {
		return s, err
	}
	if s.do != nil {
		return s, s.do(ctx)
	}
	return s, nil
}

// Call is one call to a dependency that the plan stands for: it returns nil where the
// plan lets it pass. For instance it is what a gRPC handler of a test returns.
func (p *Plan) Call(ctx context.Context) error {
	s, err := p.begin(ctx)
	if err == nil && s.write != nil {
		return errors.New("breakertest: the plan answers this call with an HTTP response: use Plan.RoundTripper")
	}
	return err
}

// Func returns f behind a plan: f is called where the plan lets the call pass. A nil f
// returns the zero T.
func Func[T any](p *Plan, f func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (v T, err error) {
		if err = p.Call(ctx); err != nil || f == nil {
			return v, err
		}
		return f(ctx)
	}
}

// RoundTripper returns base behind the plan. Where the plan lets a request pass, base
// sends it; a nil base answers with 200 and no body.
func (p *Plan) RoundTripper(base http.RoundTripper) http.RoundTripper {
	return &roundTripper{p, base}
}

type roundTripper struct {
	plan *Plan
	base http.RoundTripper
}

func (r *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	passed := false
	defer func() {
		if !passed && req.Body != nil {
			req.Body.Close() // as http.RoundTripper has to
		}
	}()
	s, err := r.plan.begin(req.Context())
	switch {
	case err != nil:
		return nil, err
	case s.write != nil:
		return s.write(req), nil
	case r.base == nil:
		return response(req, http.StatusOK, nil, http.NoBody), nil
	}
	passed = true
	return r.base.RoundTrip(req)
}

func response(req *http.Request, status int, header http.Header, body io.ReadCloser) *http.Response {
	if header == nil {
		header = make(http.Header)
	}
	length := int64(0)
	if body != http.NoBody {
		length = -1
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: req,
	}
}

// cutBody is a body that breaks off.
type cutBody struct{ rest string }

func (b *cutBody) Read(p []byte) (int, error) {
	if b.rest == "" {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *cutBody) Close() error { return nil }

// panics is a TB for breakers that are made outside of a test.
type panics struct{}

func (panics) Helper()                           {}
func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
