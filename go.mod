module github.com/atomicbreaker/breaker

go 1.26.0

require (
	github.com/loov/hrtime v1.0.3
	golang.org/x/sys v0.50.0
)
