// Package breakerpostgres is a store of leases on PostgreSQL, for fleets of
// circuit breakers that take turns at probing: a table with a row for each
// name, and LISTEN and NOTIFY.
//
//	store, err := breakerpostgres.NewStore(pool, "")
//	err = store.Migrate(ctx) // or run breakerpostgres.Schema yourself
//	fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: store})
//	defer fleet.Close()
//	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
//
// What a fleet is and promises is told by package breakerlease.
package breakerpostgres
