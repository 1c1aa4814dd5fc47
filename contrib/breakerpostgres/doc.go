// Package breakerpostgres keeps the leases of a fleet of circuit breakers in
// PostgreSQL, so that the breakers of many processes take turns at probing. It uses
// one table with a row for each name, and LISTEN and NOTIFY.
//
// Use it when many processes call one dependency and you have a PostgreSQL. Package
// breakerlease explains what a fleet is and when to use one. A first program:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerlease"
//		"github.com/atomicbreaker/breaker/contrib/breakerpostgres"
//		"github.com/jackc/pgx/v5/pgxpool"
//	)
//
//	func main() {
//		ctx := context.Background()
//		pool, err := pgxpool.New(ctx, "postgres://app@db.example/app")
//		if err != nil {
//			panic(err)
//		}
//		defer pool.Close()
//		store, err := breakerpostgres.NewStore(pool, "")
//		if err != nil {
//			panic(err)
//		}
//		if err := store.Migrate(ctx); err != nil { // makes the table
//			panic(err)
//		}
//		fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: store})
//		if err != nil {
//			panic(err)
//		}
//		defer fleet.Close()
//
//		b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
//		if err != nil {
//			panic(err)
//		}
//		fmt.Println(b.State())
//	}
//
// # Choices
//
// Run [Schema] yourself if the program may not make tables. Give fleets with the same
// names of breakers different names in [NewStore]. The pool needs one connection for
// LISTEN.
package breakerpostgres
