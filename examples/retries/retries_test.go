package retries_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/atomicbreaker/breaker/contrib/breakertest"
	"github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/hashicorp/go-retryablehttp"
)

var errDown = errors.New("down")

// dependency fails for a while, and has a breaker that opens at the third failure in a row.
func dependency(t breakertest.TB, failures int) (*breakertest.Breaker, *breakertest.Plan) {
	b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{ConsecutiveFailures: 3, Clock: clock.System()})
	return b, b.Plan(breakertest.Fail(failures, errDown), breakertest.Pass(breakertest.Always))
}

// EndOnRefusal retries with cenkalti/backoff until the call succeeds or the breaker refuses.
func EndOnRefusal(ctx context.Context, b *atomicbreaker.Breaker, call func(context.Context) (int, error)) (int, error) {
	return backoff.Retry(ctx, func() (int, error) {
		n, err := atomicbreaker.Do(ctx, b, call)
		if atomicbreaker.IsRejected(err) {
			return n, backoff.Permanent(err)
		}
		return n, err
	}, backoff.WithBackOff(backoff.NewExponentialBackOff()))
}

// WaitAsTold retries with cenkalti/backoff, and after a refusal for as long as the breaker says.
func WaitAsTold(ctx context.Context, b *atomicbreaker.Breaker, call func(context.Context) (int, error)) (int, error) {
	return backoff.Retry(ctx, func() (int, error) {
		n, err := atomicbreaker.Do(ctx, b, call)
		if refusal, ok := errors.AsType[*atomicbreaker.RejectedError](err); ok {
			if after := refusal.RetryAfter(); after > 0 {
				seconds := int((after + time.Second - 1) / time.Second) // it knows whole seconds
				return n, backoff.RetryAfter(seconds)
			}
		}
		return n, err
	}, backoff.WithBackOff(backoff.NewExponentialBackOff()), backoff.WithMaxElapsedTime(time.Minute))
}

// EndFailsafe is EndOnRefusal with failsafe-go's retry policy around our breaker.
func EndFailsafe(ctx context.Context, b *atomicbreaker.Breaker, call func(context.Context) (int, error)) (int, error) {
	policy := retrypolicy.NewBuilder[int]().
		WithMaxRetries(10).WithBackoff(100*time.Millisecond, time.Second).
		AbortIf(func(_ int, err error) bool { return atomicbreaker.IsRejected(err) }).
		ReturnLastFailure().
		Build()
	return failsafe.With(policy).WithContext(ctx).GetWithExecution(func(e failsafe.Execution[int]) (int, error) {
		return atomicbreaker.Do(e.Context(), b, call)
	})
}

// NewClient is hashicorp's retrying HTTP client, which does not retry a refusal.
func NewClient(b *atomicbreaker.Breaker, base http.RoundTripper) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.HTTPClient.Transport = &breakerhttp.Transport{Breaker: b, Base: base}
	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if atomicbreaker.IsRejected(err) {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	return client
}

func TestARefusalEndsTheLoop(t *testing.T) {
	for name, retry := range map[string]func(context.Context, *atomicbreaker.Breaker, func(context.Context) (int, error)) (int, error){
		"cenkalti/backoff": EndOnRefusal, "failsafe-go": EndFailsafe,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{
					ConsecutiveFailures: 3, Clock: clock.System(), Cooldown: atomicbreaker.Cooldown{Min: time.Minute},
				})
				plan := b.Plan(breakertest.Fail(breakertest.Always, errDown))
				_, err := retry(t.Context(), b.Breaker, breakertest.Func[int](plan, nil))
				b.WantRefused(err)
				b.WantOutcomes(breakertest.Outcomes{Failed: 3, Refused: 1})
			})
		})
	}
}

func TestItWaitsAsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, plan := dependency(t, 4)
		if _, err := WaitAsTold(t.Context(), b.Breaker, breakertest.Func[int](plan, nil)); err != nil {
			t.Errorf("%v\n%s", err, b.Story())
		}
		if o := b.Outcomes(); o.Succeeded != 1 || o.Failed != 4 {
			t.Errorf("%v\n%s", o, b.Story())
		}
	})
}

func TestTheHTTPClientEndsOnARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{
			ConsecutiveFailures: 3, Clock: clock.System(), Cooldown: atomicbreaker.Cooldown{Min: time.Minute},
		})
		plan := b.Plan(breakertest.Respond(10, http.StatusServiceUnavailable, nil))
		_, err := NewClient(b.Breaker, plan.RoundTripper(nil)).Get("http://stock.test")
		b.WantRefused(err)
		b.WantOutcomes(breakertest.Outcomes{Failed: 3, Refused: 1})
		if plan.Calls() != 3 {
			t.Errorf("%d requests were sent, want 3", plan.Calls())
		}
	})
}
