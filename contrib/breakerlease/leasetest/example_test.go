package leasetest_test

import (
	"errors"
	"fmt"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
)

// A store that fails, to see what a program does then.
func ExampleMemory() {
	store := new(leasetest.Memory)
	store.Fail(errors.New("no store"))
	fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()
	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
	fmt.Println(b.State(), err) // it goes on alone
	// Output: closed <nil>
}
