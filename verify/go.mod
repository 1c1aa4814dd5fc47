module github.com/atomicbreaker/breaker/verify

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/atomicbreaker/breaker v0.0.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/loov/hrtime v1.0.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/atomicbreaker/breaker => ../
