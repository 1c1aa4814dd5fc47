package rival

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/vulcand/oxy/v2/cbreaker"
)

// oxies returns oxy's breaker, which is an http.Handler. It judges at most every
// 100 ms, has no minimum of calls and keeps a window of constants: 10 s in 10
// buckets. Its half-open state ramps up with time; the ramp is made so slow that
// it admits nobody.
func oxies() []Subject {
	return []Subject{{
		Impl: "oxy", API: "handler", Module: "github.com/vulcand/oxy/v2",
		Build:     oxyInstance,
		Ramps:     true,
		Lacks:     map[Row]string{DoClosure: "has no wrapper form: it is an http.Handler"},
		Unlimited: "limits no probes: recovering admits a share that grows with time",
		New: func() any {
			return oxyBreaker(JobOf(ClosedSuccess), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		},
		Use: func(b any) { b.(*cbreaker.CircuitBreaker).ServeHTTP(&oxyWriter{}, oxyRequest) },
	}}
}

var oxyRequest, oxyFailing = &http.Request{Method: "GET"}, &http.Request{Method: "GET"}

// oxyRamp is the duration of a ramp that stays at its start.
const oxyRamp = 100 * 365 * 24 * time.Hour

func oxyBreaker(job Job, next http.Handler) *cbreaker.CircuitBreaker {
	trips := fmt.Sprintf("ResponseCodeRatio(500, 600, 0, 600) >= %.1f", failureRate)
	if job.Minimum >= outOfReach {
		trips = "ResponseCodeRatio(500, 600, 0, 600) > 1.5"
	}
	if job.TrackSlow {
		trips = fmt.Sprintf("LatencyAtQuantileMS(50.0) > %d", time.Hour/time.Millisecond)
	}
	b, err := cbreaker.New(next, trips,
		cbreaker.FallbackDuration(job.Cooldown), cbreaker.RecoveryDuration(oxyRamp), cbreaker.Fallback(oxyRefusal{}))
	if err != nil {
		panic(fmt.Sprintf("rival: oxy refuses its expression: %v", err))
	}
	return b
}

// oxyRefusal marks the calls that the breaker does not let through.
type oxyRefusal struct{}

func (oxyRefusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.(*oxyWriter).refused = true }

// oxyWriter is a response that goes nowhere. It is pooled, so that the harness
// adds no allocation to those of the breaker.
type oxyWriter struct {
	header  http.Header
	refused bool
}

func (w *oxyWriter) Header() http.Header         { return w.header }
func (w *oxyWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *oxyWriter) WriteHeader(int)             {}

var oxyWriters = sync.Pool{New: func() any { return new(oxyWriter) }}

func oxyInstance(job Job) Instance {
	var body sync.Map // *http.Request to func(), for probes
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r {
		case oxyRequest:
		case oxyFailing:
			w.WriteHeader(http.StatusInternalServerError)
		default:
			f, _ := body.Load(r)
			f.(func())()
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	b := oxyBreaker(job, next)
	serve := func(r *http.Request) bool {
		w := oxyWriters.Get().(*oxyWriter)
		w.refused = false
		b.ServeHTTP(w, r)
		admitted := !w.refused
		oxyWriters.Put(w)
		return admitted
	}
	return Instance{
		Success: func() bool { return serve(oxyRequest) },
		Failure: func() bool { return serve(oxyFailing) },
		Probe: func(f func()) bool {
			r := &http.Request{Method: "GET"}
			body.Store(r, f)
			defer body.Delete(r)
			return serve(r)
		},
	}
}
