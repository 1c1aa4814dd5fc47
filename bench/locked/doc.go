// Package locked is the circuit breaker of package atomicbreaker behind a
// lock: the same configuration, semantics and methods, written as a plain
// sequential state machine with a [Mutex] or an [RWMutex] around it.
//
// It serves two purposes. Benchmarks compare the lock-free breaker with a
// breaker that does the same work the usual way, and tests drive both with
// the same calls and expect the same answers. So it is meant to be fair in the
// first role and obvious in the second: no allocation on a call, no clock
// reading on a refusal or an ordinary closed call, no user code under the lock
// but [atomicbreaker.Config].Rand and the clock, and one function for each
// rule.
//
// It is not meant for production: every call of a breaker of this package
// waits for every other.
package locked
