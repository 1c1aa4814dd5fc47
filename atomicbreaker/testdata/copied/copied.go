// Package copied does what go vet has to find: it copies tickets.
package copied

import (
	"context"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func settle(t atomicbreaker.Ticket) { t.Done(context.Background(), nil) }

// Copy hands a copy of a ticket on.
func Copy(b *atomicbreaker.Breaker) {
	t, err := b.Acquire()
	if err != nil {
		return
	}
	settle(t)
}
