module github.com/atomicbreaker/breaker/examples/retries

go 1.26.0

replace github.com/atomicbreaker/breaker => ../..

require (
	github.com/atomicbreaker/breaker v0.0.0
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/hashicorp/go-retryablehttp v0.7.8
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/loov/hrtime v1.0.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
