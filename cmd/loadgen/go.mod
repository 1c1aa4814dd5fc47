module github.com/atomicbreaker/breaker/cmd/loadgen

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/atomicbreaker/breaker v0.0.0
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/loov/hrtime v1.0.3
	golang.org/x/term v0.48.0
)

require golang.org/x/sys v0.50.0 // indirect

replace github.com/atomicbreaker/breaker => ../..
