package peers

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// perCore are the numbers of goroutines per processor.
var perCore = []int{1, 2, 16}

// BenchmarkCall measures one call in every row of every subject. Rows that a
// subject cannot do are skipped with the reason.
func BenchmarkCall(b *testing.B) {
	for _, row := range rival.Rows() {
		for _, s := range rival.Subjects() {
			for _, g := range perCore {
				var p rival.Prepared
				b.Run(fmt.Sprintf("row=%s/%s/g=%d", row, s.Key(), g), func(b *testing.B) {
					if b.N == 1 { // a measurement begins; it goes on with the same breaker
						release(p)
						p = prepared(b, s, row, g)
					}
					benchmarkRow(b, s, p, g)
				})
				release(p)
			}
		}
	}
}

// release gives back what a breaker holds, if there is one.
func release(p rival.Prepared) {
	if p.Close != nil {
		p.Close()
	}
}

// warmUp is for how long a breaker is used before it is measured. Ours adds
// stripes on contention, one step at a time, by a timer that hot goroutines keep
// waiting for up to 10 ms; no rival has anything that takes as long.
func warmUp(s rival.Subject) time.Duration {
	if s.Rival() {
		return 10 * time.Millisecond
	}
	return 30 * time.Millisecond
}

func prepared(b *testing.B, s rival.Subject, row rival.Row, g int) rival.Prepared {
	p, err := s.Prepare(row)
	if errors.Is(err, rival.ErrLacks) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	until := time.Now().Add(warmUp(s))
	for range g * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := 0; time.Now().Before(until); i++ {
				if p.Tenth != nil && i%10 == 9 {
					p.Tenth()
				} else {
					p.Op()
				}
			}
		})
	}
	all.Wait()
	return p
}

func benchmarkRow(b *testing.B, s rival.Subject, p rival.Prepared, g int) {
	admitted := runParallel(b, g, func() rival.Call { return p.Op }, p.Tenth)
	share := float64(admitted) / float64(b.N)
	want := 0.0
	if p.Admitted {
		want = 1
	}
	switch {
	case share == want:
	case s.ByChance && !p.Admitted && share < 0.5, s.Leaks != "" && p.Admitted && share > 0.5:
		b.ReportMetric(100*share, "admitted-%")
	default:
		b.Fatalf("%s admitted %d of %d calls", s.Key(), admitted, b.N)
	}
}

// BenchmarkFloor measures the floors through the same harness.
func BenchmarkFloor(b *testing.B) {
	for _, f := range Floors() {
		for _, g := range perCore {
			b.Run(fmt.Sprintf("floor=%s/g=%d", f.Name, g), func(b *testing.B) {
				runParallel(b, g, f.New(), nil)
			})
		}
	}
}

// runParallel runs b.N operations on g goroutines per processor, every tenth of
// each goroutine being tenth unless that is nil, and returns how many were
// admitted.
func runParallel(b *testing.B, g int, local func() rival.Call, tenth rival.Call) int64 {
	b.ReportAllocs()
	b.SetParallelism(g)
	var admitted atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		op, n := local(), int64(0)
		if tenth == nil {
			for pb.Next() {
				if op() {
					n++
				}
			}
		} else {
			for i := 1; pb.Next(); i++ {
				call := op
				if i == 10 {
					call, i = tenth, 0
				}
				if call() {
					n++
				}
			}
		}
		admitted.Add(n)
	})
	b.StopTimer()
	return admitted.Load()
}
