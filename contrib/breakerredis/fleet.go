package breakerredis

import (
	"errors"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// Fleet is this process's part of a fleet of breakers.
type Fleet = breakerlease.Fleet

// New makes a Fleet on Redis and begins to listen to the others. It does not
// wait for Redis. The error joins every fault of the options. Fleet.Close ends
// it; the client is not closed.
func New(o Options) (*Fleet, error) {
	store, err := NewStore(o.Client, o.Prefix)
	fleet := breakerlease.FleetOptions{
		Store: store, TTL: o.TTL, Timeout: o.Timeout, OpenWithOthers: o.OpenWithOthers,
		Identity: o.Identity, Logger: o.Logger, LogEvery: o.LogEvery,
	}
	if err != nil {
		fleet.Store = unusable{} // the other faults are told of too
		return nil, errors.Join(err, fleet.Validate())
	}
	return breakerlease.NewFleet(fleet)
}

// unusable stands for a store that could not be made.
type unusable struct{ breakerlease.Store }
