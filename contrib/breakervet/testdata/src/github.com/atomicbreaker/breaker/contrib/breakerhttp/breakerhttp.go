package breakerhttp

import "github.com/atomicbreaker/breaker/atomicbreaker"

type Transport struct{ Breaker *atomicbreaker.Breaker }
