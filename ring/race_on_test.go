//go:build race

package ring

// underRace: tests of one goroutine do less there, where they are ten times
// slower and find nothing more.
const underRace = true
