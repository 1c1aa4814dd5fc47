module github.com/atomicbreaker/breaker/verify/release

go 1.26.0

require (
	github.com/google/licensecheck v0.3.1
	golang.org/x/mod v0.43.0
)
