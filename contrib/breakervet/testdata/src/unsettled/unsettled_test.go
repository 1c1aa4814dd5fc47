package unsettled

import "github.com/atomicbreaker/breaker/atomicbreaker"

// Tests drop tickets on purpose.
func inATest(b *atomicbreaker.Breaker) bool {
	_, err := b.Acquire()
	return err != nil
}
