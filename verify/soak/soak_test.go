package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestSoak is the soak in a few seconds.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t)
	if err := soak(options{operations: 5e6, atMost: 20 * time.Second, seed: 7, storm: time.Second, perRound: 5_000, log: t.Logf}); err != nil {
		t.Fatal(err)
	}
}
