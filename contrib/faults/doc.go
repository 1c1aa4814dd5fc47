// Package faults tests the integrations against a network that misbehaves: a
// proxy on loopback that delays, cuts and withholds (toxiproxy), and the
// kernel itself. It holds tests only, in a module of its own, so that nobody
// else depends on the proxy.
package faults
