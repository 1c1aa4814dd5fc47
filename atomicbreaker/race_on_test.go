//go:build race

package atomicbreaker

// underRace: tests of one goroutine do less there, where they are ten times
// slower and find nothing more.
const underRace = true
