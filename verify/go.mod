module github.com/atomicbreaker/breaker/verify

go 1.26.0

require github.com/atomicbreaker/breaker v0.0.0

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace github.com/atomicbreaker/breaker => ../
