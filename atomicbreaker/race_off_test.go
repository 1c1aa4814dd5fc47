//go:build !race

package atomicbreaker

const underRace = false
