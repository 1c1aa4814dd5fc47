// Package bench measures the breaker: beside the same breaker behind a mutex
// and an RWMutex (package locked), and beside the floor, which is the atomic
// operations that the same promise cannot do without.
//
// The rows are benchmarks of the package's tests, named for benchstat:
//
//	go test -bench . -cpu 1,2 -count 10 ./bench | tee new.txt
//	benchstat -filter .unit:sec/op -row .name,/path,/failures,/load -col /impl new.txt
//
// load=serial is one goroutine, load=1 and load=16 are so many goroutines per
// processor. Each goroutine does an equal share of the calls, so that there is
// no bookkeeping between two calls; with a time per call near a nanosecond
// testing's RunParallel would be a good part of what it measures. The parallel
// rows and BenchmarkPairs mean something only where nothing else runs.
//
// BenchmarkLayout, Buckets, Stripes, Breakers and Failures measure ours alone,
// against how its memory is laid out and how much there is of something.
package bench
