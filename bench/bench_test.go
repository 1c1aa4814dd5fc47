package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

func BenchmarkRefused(b *testing.B)         { benchmark(b, refused) }
func BenchmarkHalfOpenRefused(b *testing.B) { benchmark(b, halfOpenRefused) }
func BenchmarkClosed(b *testing.B)          { benchmark(b, append(closed(0), closed(10)...)) }
func BenchmarkClosedDo(b *testing.B)        { benchmark(b, closedDo) }
func BenchmarkReady(b *testing.B)           { benchmark(b, asked) }

// benchmark runs rows with one goroutine and with 1 and 16 per processor.
func benchmark(b *testing.B, rows []row) {
	for _, r := range rows {
		b.Run(r.name+"/load=serial", func(b *testing.B) { measure(b, r.start(b), 1) })
		for _, per := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/load=%d", r.name, per), func(b *testing.B) {
				measure(b, r.start(b), per*runtime.GOMAXPROCS(0))
			})
		}
	}
}

// measure shares the calls among workers and checks that each was answered
// as it should be, and counted.
func measure(b *testing.B, w work, workers int) {
	b.ReportAllocs()
	w = w.warm(workers)
	admitted := w.share(workers, b.N, b.ResetTimer)
	b.StopTimer()
	w.verify(b, admitted, b.N)
}

// warm uses a breaker until the stripes are there that so many workers will
// want: they are made in a timer, which hot goroutines keep waiting for up to 10 ms.
func (w work) warm(workers int) work {
	if workers > 1 && runtime.GOMAXPROCS(0) > 1 {
		for until := time.Now().Add(25 * time.Millisecond); time.Now().Before(until); {
			w.share(workers, 400_000, func() {})
		}
	}
	if books := w.books; books != nil {
		used := books()
		w.books = func() uint64 { return books() - used }
	}
	return w
}

// share makes n calls with so many workers, which begin together.
func (w work) share(workers, n int, begin func()) int {
	admitted := make([]line, workers)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range workers {
		done.Go(func() {
			<-start
			admitted[i].n.Store(uint64(w.body(i, n*(i+1)/workers-n*i/workers)))
		})
	}
	begin()
	close(start)
	done.Wait()
	return int(sum(admitted))
}

func (w work) verify(tb testing.TB, admitted, n int) {
	tb.Helper()
	want := 0
	if w.admits {
		want = n
	}
	if admitted != want {
		tb.Errorf("%d of %d calls were admitted, want %d", admitted, n, want)
	}
	if w.books != nil && w.books() != uint64(n) {
		tb.Errorf("%d of %d calls were counted", w.books(), n)
	}
}

// BenchmarkClock is what a breaker would pay that read a clock.
func BenchmarkClock(b *testing.B) {
	var instant time.Time
	var elapsed time.Duration
	b.Run("read=time.Now", func(b *testing.B) {
		for range b.N {
			instant = time.Now()
		}
	})
	b.Run("read=time.Since", func(b *testing.B) {
		for range b.N {
			elapsed = time.Since(instant)
		}
	})
	system := clock.System()
	b.Run("read=clock.System", func(b *testing.B) {
		for range b.N {
			elapsed = system.Now()
		}
	})
	runtime.KeepAlive(elapsed)
}

// Two goroutines on two processors should each be as fast as one alone, on
// whichever stripes their stacks fall. So the row is about the worst of many
// pairs of new goroutines, as a share of the time per call of one goroutine.
func BenchmarkPairs(b *testing.B) {
	for _, r := range []row{
		{"impl=atomic/path=refused", func(tb testing.TB) work {
			b := newAtomic(tb, tripped())
			b.Trip()
			return work{body: acquireAtomic(b), books: refusedBy(b.Snapshot)}
		}},
		{"impl=atomic/path=closed", func(tb testing.TB) work {
			b := newAtomic(tb, steady())
			return work{admits: true, body: callAtomic(b, 0), books: settledBy(b.Snapshot)}
		}},
		{"impl=atomic/path=closed/failures=10", func(tb testing.TB) work {
			b := newAtomic(tb, steady())
			return work{admits: true, body: callAtomic(b, 10), books: settledBy(b.Snapshot)}
		}},
	} {
		b.Run(r.name, func(b *testing.B) { pairs(b, r.start(b)) })
	}
}

const sets = 20

func pairs(b *testing.B, w work) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("needs two processors")
	}
	n := max(b.N/sets, 1000)
	perCall := func(workers int) float64 {
		var began time.Time
		admitted := w.share(workers, n, func() { began = time.Now() })
		took := time.Since(began)
		if want := n; w.admits && admitted != want || !w.admits && admitted != 0 {
			b.Fatalf("%d of %d calls were admitted", admitted, n)
		}
		return float64(took) / float64(n)
	}
	w = w.warm(2)
	var alone, paired []float64
	for range sets {
		alone = append(alone, perCall(1))
		paired = append(paired, perCall(2))
	}
	b.StopTimer()
	slices.Sort(alone)
	slices.Sort(paired)
	one := alone[sets/2]
	b.ReportMetric(0, "ns/op") // of a mixture
	b.ReportMetric(one, "alone-ns/op")
	b.ReportMetric(paired[sets/2], "median-ns/op")
	b.ReportMetric(paired[sets-1], "worst-ns/op")
	b.ReportMetric(paired[sets/2]/one, "median/alone")
	b.ReportMetric(paired[sets-1]/one, "worst/alone")
	if got, want := w.books(), uint64(2*sets*n); got != want {
		b.Errorf("%d of %d calls were counted", got, want)
	}
}

// Every row does what it is named for, and without an allocation.
func TestRows(t *testing.T) {
	for _, rows := range [][]row{refused, halfOpenRefused, closed(0), closed(10), closedDo, asked} {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				w := r.start(t)
				w.verify(t, w.share(7, 1000, func() {}), 1000)
				w = r.start(t)
				w.body(0, 100) // wakes the rolling window
				if n := testing.AllocsPerRun(10, func() { w.body(0, 20) }); n != 0 {
					t.Errorf("%v allocations in 20 calls", n)
				}
			})
		}
	}
}

func TestEveryTenthCallFails(t *testing.T) {
	atomic, mutex, rw := newAtomic(t, steady()), newMutex(t, steady()), newRWMutex(t, steady())
	callAtomic(atomic, 10)(3, 1000)
	callMutex(mutex, 10)(3, 1000)
	callRWMutex(rw, 10)(3, 1000)
	for _, s := range []atomicbreaker.Snapshot{atomic.Snapshot(), mutex.Snapshot(), rw.Snapshot()} {
		if s.Failed != 100 || s.Succeeded != 900 {
			t.Errorf("%d failed, %d succeeded", s.Failed, s.Succeeded)
		}
	}
}

// A row whose breaker answers otherwise is noticed.
func TestRowsAreVerified(t *testing.T) {
	b := newAtomic(t, atomicbreaker.Config{})
	wrong := work{body: acquireAtomic(b), books: refusedBy(b.Snapshot)}
	fake := &recorder{TB: t}
	wrong.verify(fake, wrong.share(2, 10, func() {}), 10)
	if fake.errors != 2 {
		t.Errorf("%d errors, want one for admissions and one for the books", fake.errors)
	}
}

type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }
func (r *recorder) Helper()               {}
