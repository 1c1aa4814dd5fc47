package breakerpostgres_test

import (
	"context"
	"fmt"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerpostgres"
	"github.com/jackc/pgx/v5/pgxpool"
)

func ExampleNewStore() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@db.example/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	store, err := breakerpostgres.NewStore(pool, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := store.Migrate(ctx); err != nil { // makes the table
		fmt.Println(err)
		return
	}
	fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()
	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
	fmt.Println(b.State(), err)
}
