//go:build race

package sim

// raceEnabled: the race detector makes the suite twenty times slower, and a
// run has one goroutine.
const raceEnabled = true
