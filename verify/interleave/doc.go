// Package interleave runs the atomic operations of the real breaker and ring
// under a deterministic scheduler: every schedule of two or three actors with
// a bounded number of preemptions, with invariants checked before every
// operation and at rest. Its tests build an instrumented copy of the packages;
// see internal/overlay.
package interleave
