package gobreaker_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// A program written for sony/gobreaker, with this package's import.
func ExampleCircuitBreaker_Execute() {
	cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name:    "stock",
		Timeout: 5 * time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= 3 && float64(c.TotalFailures)/float64(c.Requests) >= 0.6
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			fmt.Printf("%s: %v to %v\n", name, from, to)
		},
	})

	for range 4 {
		_, err := cb.Execute(func() (int, error) { return 0, errors.New("no answer") })
		fmt.Println(err)
	}
	// Output:
	// no answer
	// no answer
	// stock: closed to open
	// no answer
	// circuit breaker is open
}

func ExampleTwoStepCircuitBreaker_Allow() {
	cb := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "stock"})

	done, err := cb.Allow()
	if err != nil {
		fmt.Println("not sent:", err)
		return
	}
	done(nil) // the request has succeeded
	done(nil) // and is counted once
	fmt.Printf("%+v\n", cb.Counts())
	// Output:
	// {Requests:1 TotalSuccesses:1 TotalFailures:0 TotalExclusions:0 ConsecutiveSuccesses:1 ConsecutiveFailures:0}
}

func ExampleNewCircuitBreaker() {
	cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Name: "inventory"})
	n, err := cb.Execute(func() (int, error) { return 7, nil })
	fmt.Println(n, err, cb.State())
	// Output: 7 <nil> closed
}

func ExampleNewTwoStepCircuitBreaker() {
	cb := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "inventory"})
	done, err := cb.Allow()
	if err != nil {
		fmt.Println(err)
		return
	}
	done(nil) // the call has succeeded
	fmt.Println(cb.Counts().TotalSuccesses)
	// Output: 1
}
