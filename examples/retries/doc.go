// Package retries shows well-kept retry libraries around a breaker. The loop goes around
// it: each try is an outcome of its own, and a refusal ends the loop or says how long
// to wait. The examples are in the tests, and run.
package retries
