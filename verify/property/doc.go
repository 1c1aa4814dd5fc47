// Package property holds what must be true of every input: operation strings
// against the locked breakers, the ring against plain slices, configurations,
// text forms, and the promises of the public surface that no answer of a call
// shows: no allocation, no reading of the clock, no timer and no breaker left
// behind.
package property
