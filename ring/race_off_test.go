//go:build !race

package ring

const underRace = false
