module github.com/atomicbreaker/breaker

go 1.26.0
