package leasetest

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) Server {
		m := new(Memory)
		return Server{
			Connect: func(*testing.T) breakerlease.Store { return m },
			Lose:    func(*testing.T) { m.Lose() },
			Cut:     func(*testing.T) { m.Cut() },
			Pause:   func(*testing.T) { m.Pause() },
			Resume:  func(*testing.T) { m.Resume() },
			Jump:    func(_ *testing.T, d time.Duration) { m.Jump(d) },
		}
	})
}
