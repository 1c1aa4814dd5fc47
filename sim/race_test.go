//go:build race

package sim

// raceEnabled: the race detector makes a run twenty times slower and has nothing
// to find in it, since it has one goroutine. Only what runs several is tested.
const raceEnabled = true
