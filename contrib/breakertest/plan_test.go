package breakertest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/atomicbreaker/breaker/contrib/breakertest"
	"github.com/stretchr/testify/require"
)

func TestAPlanIsCarriedOutInOrder(t *testing.T) {
	p := breakertest.NewPlan(breakertest.Pass(1), breakertest.Fail(2, errDown), breakertest.Refuse(1, atomicbreaker.ErrProbeLimit),
		breakertest.Panic(1, "poison"))
	fake := new(fakeT)
	asked := 0
	f := breakertest.Func(p, func(context.Context) (int, error) { asked++; return 7, nil })
	v, err := f(t.Context())
	require.Equal(t, []any{7, nil}, []any{v, err})
	for range 2 {
		v, err = f(t.Context())
		require.Equal(t, []any{0, errDown}, []any{v, err})
	}
	p.WantUsed(fake)
	require.Contains(t, fake.take(), "3 calls came, and the plan is for 2 more")
	_, err = f(t.Context())
	require.ErrorIs(t, err, atomicbreaker.ErrProbeLimit)
	require.PanicsWithValue(t, "poison", func() { f(t.Context()) })
	p.WantUsed(t)
	_, err = f(t.Context())
	require.NoError(t, err, "after the plan calls pass")
	require.Equal(t, []int{2, 6}, []int{asked, p.Calls()})

	always := breakertest.NewPlan(breakertest.Fail(breakertest.Always, errDown))
	for range 100 {
		require.Equal(t, errDown, always.Call(t.Context()))
	}
	always.WantUsed(t)
	zero, err := breakertest.Func[string](breakertest.NewPlan(), nil)(t.Context())
	require.Equal(t, []any{"", nil}, []any{zero, err})
}

func TestRefusalsAreThoseOfABreaker(t *testing.T) {
	for _, kind := range []error{atomicbreaker.ErrOpen, atomicbreaker.ErrProbeLimit, atomicbreaker.ErrForced} {
		err := breakertest.NewPlan(breakertest.Refuse(1, kind)).Call(t.Context())
		require.ErrorIs(t, err, kind)
		_, ok := errors.AsType[*atomicbreaker.RejectedError](err)
		require.True(t, ok)
	}
}

func TestDelaysMoveTheBreakersClock(t *testing.T) {
	b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{SlowCallDuration: time.Second, MinimumCalls: 3})
	p := b.Plan(breakertest.Pass(2), breakertest.Pass(2).After(time.Minute))
	f := breakertest.Func[int](p, nil)
	began := time.Now()
	for range 4 {
		_, err := atomicbreaker.Do(t.Context(), b.Breaker, f)
		require.NoError(t, err)
	}
	require.Less(t, time.Since(began), 30*time.Second)
	require.Equal(t, 2*time.Minute, b.Now())
	require.EqualValues(t, 2, b.Snapshot().Slow)
}

func TestDelaysEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := breakertest.NewPlan(breakertest.Pass(1).After(time.Second), breakertest.Fail(1, errDown).After(time.Hour), breakertest.Hang(2))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.NoError(t, p.Call(ctx))
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, p.Call(ctx), context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(began))

		leaving, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, leave)
		require.ErrorIs(t, p.Call(leaving), context.Canceled)
		require.Equal(t, time.Minute+3*time.Second, time.Since(began))
		require.ErrorContains(t, p.Call(context.Background()), "give it a deadline")
	})
}

func TestPlansOfHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") }))
	defer server.Close()
	b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{ConsecutiveFailures: 3})
	p := b.Plan(
		breakertest.Pass(1),
		breakertest.CutBody(1, "hal"),
		breakertest.Fail(1, errDown),
		breakertest.Respond(1, http.StatusServiceUnavailable, http.Header{"Retry-After": {"3"}}),
	)
	client := &http.Client{Transport: &breakerhttp.Transport{Breaker: b.Breaker, Base: p.RoundTripper(http.DefaultTransport), JudgeBody: true}}
	get := func() (int, string, error) {
		resp, err := client.Get(server.URL)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body), err
	}
	status, body, err := get()
	require.Equal(t, []any{200, "served", nil}, []any{status, body, err})
	status, body, err = get()
	require.Equal(t, []any{200, "hal", io.ErrUnexpectedEOF}, []any{status, body, err})
	_, _, err = get()
	require.ErrorIs(t, err, errDown)
	status, _, err = get()
	require.Equal(t, []any{503, nil}, []any{status, err})
	p.WantUsed(t)
	b.WantTransitions(open)
	require.Equal(t, 3*time.Second, b.RetryAfter())
	_, _, err = get()
	b.WantRefused(err)
	require.Equal(t, 4, p.Calls(), "a refused request was sent")
	b.WantOutcomes(breakertest.Outcomes{Succeeded: 1, Failed: 3, Refused: 1})

	// Without a base every request is answered.
	resp, err := (&http.Client{Transport: breakertest.NewPlan().RoundTripper(nil)}).Get("http://nowhere.invalid")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
}

// closing is a body that knows whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestBodiesOfRequestsThatAreNotSentAreClosed(t *testing.T) {
	for name, step := range map[string]breakertest.Step{
		"failed": breakertest.Fail(1, errDown), "answered": breakertest.Respond(1, 500, nil), "panics": breakertest.Panic(1, "poison"),
		"no base": breakertest.Pass(1),
	} {
		body := &closing{Reader: strings.NewReader("x")}
		req, err := http.NewRequest(http.MethodPost, "http://nowhere.invalid", body)
		require.NoError(t, err)
		func() {
			defer func() { _ = recover() }()
			_, _ = breakertest.NewPlan(step).RoundTripper(nil).RoundTrip(req)
		}()
		require.True(t, body.closed, name)
	}
}

func TestPlansThatCannotBeMadePanic(t *testing.T) {
	for want, f := range map[string]func(){
		"breakertest: Fail got a nil error":                                      func() { breakertest.Fail(1, nil) },
		"breakertest: Refuse got down, want ErrOpen, ErrProbeLimit or ErrForced": func() { breakertest.Refuse(1, errDown) },
		"breakertest: Respond got the status 99, want 100 to 599":                func() { breakertest.Respond(1, 99, nil) },
		"breakertest: After got -1ns, want 0 or more":                            func() { breakertest.Pass(1).After(-1) },
		"breakertest: step 2 of the plan is for 0 calls, want 1 or more":         func() { breakertest.NewPlan(breakertest.Pass(1), breakertest.Pass(0)) },
	} {
		require.PanicsWithValue(t, want, f)
	}
	err := breakertest.NewPlan(breakertest.Respond(1, 200, nil)).Call(t.Context())
	require.ErrorContains(t, err, "use Plan.RoundTripper")
}
