package breakerlease_test

import (
	"context"
	"fmt"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
)

// A fleet over a store. Here the store is in memory; a real one is in package
// breakerredis or breakerpostgres.
func ExampleNewFleet() {
	fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: new(leasetest.Memory)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()

	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
	fmt.Println(b.State(), err)
	// Output: closed <nil>
}

// always is a Lease that grants everything at once.
type always struct{}

func (always) Ask(context.Context, breakerlease.Question) (breakerlease.Answer, error) {
	return breakerlease.Answer{Granted: true}, nil
}
func (always) Tell(context.Context, breakerlease.News) error { return nil }
func (always) Go(f func())                                   { go f() }

// A Lease of your own decides who may probe.
func ExampleNew() {
	b, err := breakerlease.New(atomicbreaker.Config{Name: "inventory"}, always{}, breakerlease.Options{})
	fmt.Println(b.State(), err)
	// Output: closed <nil>
}

// A breaker that is made elsewhere, here by a Group.
func ExampleJoin() {
	hosts, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{
		Configure: func(_ string, c atomicbreaker.Config) atomicbreaker.Config {
			joined, err := breakerlease.Join(c, always{}, breakerlease.Options{})
			if err != nil {
				return c // alone
			}
			return joined
		},
	})
	fmt.Println(hosts.Get("a.example").State(), err)
	// Output: closed <nil>
}
