package breakerotel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

var errFailed = errors.New("failed")

// events runs f with a span and returns what was noted on it.
func events(t testing.TB, f func(ctx context.Context)) []string {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	ctx, span := provider.Tracer("test").Start(t.Context(), "call")
	func() {
		defer span.End()
		defer func() { recover() }()
		f(ctx)
	}()
	list := []string{}
	for _, e := range recorder.Ended()[0].Events() {
		text := e.Name
		for _, kv := range e.Attributes {
			text += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
		list = append(list, text)
	}
	return list
}

func succeed(context.Context) error { return nil }
func fail(context.Context) error    { return errFailed }

func TestSpanEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := atomicbreaker.MustNew(config("stock"))
		check := func(what string, f func(context.Context), want ...string) {
			t.Helper()
			if got := events(t, f); fmt.Sprint(got) != fmt.Sprint(want) || len(got) != len(want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		do := func(f func(context.Context) error, want error) func(context.Context) {
			return func(ctx context.Context) {
				if err := Do(ctx, b, f); !errors.Is(err, want) {
					t.Errorf("Do returned %v, want %v", err, want)
				}
			}
		}
		const opened = "circuitbreaker.state_changed circuitbreaker.name=stock circuitbreaker.from_state=closed circuitbreaker.state=open circuitbreaker.reason=streak"
		check("a success", do(succeed, nil))
		check("the failure that opens", do(fail, errFailed), opened)
		check("a refusal", do(succeed, atomicbreaker.ErrOpen),
			"circuitbreaker.refused circuitbreaker.name=stock circuitbreaker.state=open circuitbreaker.reason=open circuitbreaker.retry_after=10.001")
		time.Sleep(cooldown + time.Second)
		probe, err := b.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		check("a refusal in half-open", do(succeed, atomicbreaker.ErrProbeLimit),
			"circuitbreaker.refused circuitbreaker.name=stock circuitbreaker.state=half_open circuitbreaker.reason=half_open circuitbreaker.retry_after=1")
		probe.Cancel()
		check("the probe that closes", do(succeed, nil),
			"circuitbreaker.state_changed circuitbreaker.name=stock circuitbreaker.from_state=half_open circuitbreaker.state=closed circuitbreaker.reason=recovered")
		check("a panic that opens", func(ctx context.Context) { Do(ctx, b, func(context.Context) error { panic("call") }) }, opened)
		b.SetMode(atomicbreaker.ForcedOpen)
		check("a forced refusal", do(succeed, atomicbreaker.ErrForced),
			"circuitbreaker.refused circuitbreaker.name=stock circuitbreaker.state=open circuitbreaker.reason=forced")

		check("an inner breaker's refusal", func(ctx context.Context) {
			outer := atomicbreaker.MustNew(config("outer"))
			if err := Do(ctx, outer, func(context.Context) error { return b.Do(ctx, succeed) }); !atomicbreaker.IsRejected(err) {
				t.Error(err)
			}
		}, "circuitbreaker.refused circuitbreaker.name=stock circuitbreaker.state=open circuitbreaker.reason=forced")
		check("Refused", func(ctx context.Context) {
			_, err := b.Acquire()
			if !Refused(ctx, fmt.Errorf("wrapped: %w", err)) || Refused(ctx, errFailed) || Refused(ctx, nil) {
				t.Error("wrong answer")
			}
		}, "circuitbreaker.refused circuitbreaker.name=stock circuitbreaker.state=open circuitbreaker.reason=forced")
		check("a transport", func(ctx context.Context) {
			transport := &Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
				_, err := b.Acquire()
				return nil, err
			})}
			req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com", nil)
			if _, err := transport.RoundTrip(req); !atomicbreaker.IsRejected(err) {
				t.Error(err)
			}
		}, "circuitbreaker.refused circuitbreaker.name=stock circuitbreaker.state=open circuitbreaker.reason=forced")
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestWithoutASpanThereIsNoAllocation: who asks for events pays for them only
// where they go somewhere.
func TestWithoutASpanThereIsNoAllocation(t *testing.T) {
	open := atomicbreaker.MustNew(config("open"))
	open.Trip()
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = Do(ctx, open, succeed) }); n != 0 {
		t.Errorf("a refusal without a span allocates %v times", n)
	}
	_, err := open.Acquire()
	if n := testing.AllocsPerRun(100, func() { Refused(ctx, err) }); n != 0 {
		t.Errorf("Refused without a span allocates %v times", n)
	}
	if !Refused(ctx, err) || Refused(ctx, errFailed) {
		t.Error("wrong answer")
	}
}

func BenchmarkRefusal(b *testing.B) {
	open := atomicbreaker.MustNew(config("open"))
	open.Trip()
	provider := sdktrace.NewTracerProvider(sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{EventCountLimit: 100}))
	traced, span := provider.Tracer("test").Start(context.Background(), "call")
	defer span.End()
	for name, ctx := range map[string]context.Context{"span=none": context.Background(), "span=recording": traced} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Do(ctx, open, succeed)
			}
		})
	}
	b.Run("span=not asked", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = open.Do(traced, succeed)
		}
	})
}
