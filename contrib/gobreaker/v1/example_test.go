package gobreaker_test

import (
	"fmt"

	"github.com/atomicbreaker/breaker/contrib/gobreaker/v1"
)

func ExampleNewCircuitBreaker() {
	cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{Name: "inventory"})
	n, err := cb.Execute(func() (any, error) { return 7, nil })
	fmt.Println(n, err, cb.State())
	// Output: 7 <nil> closed
}

func ExampleNewTwoStepCircuitBreaker() {
	cb := gobreaker.NewTwoStepCircuitBreaker(gobreaker.Settings{Name: "inventory"})
	done, err := cb.Allow()
	if err != nil {
		fmt.Println(err)
		return
	}
	done(true) // the call has succeeded
	fmt.Println(cb.Counts().TotalSuccesses)
	// Output: 1
}
