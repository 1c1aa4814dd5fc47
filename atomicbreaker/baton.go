package atomicbreaker

import "sync/atomic"

// baton lets one goroutine at a time do a job that many ask for. Whoever is
// refused it leaves his work to the holder, who looks once more before giving
// it up. It counts nothing, so that no number of askers can wrap it:
//
//	if b.take() {
//		for {
//			b.look()
//			... do all that is there to do
//			if b.drop() {
//				break
//			}
//		}
//	}
type baton struct{ v atomic.Int32 }

const (
	batonFree  = iota
	batonHeld  // and nobody has asked since the holder began to look
	batonAsked // somebody has
)

// take reports whether the caller holds the baton now. Otherwise its holder
// looks once more at what the caller did before this call.
func (b *baton) take() bool { return b.v.Swap(batonAsked) == batonFree }

// look is called by the holder before it looks at what there is to do.
func (b *baton) look() { b.v.Store(batonHeld) }

// drop gives the baton up, unless somebody has asked since look: then it
// returns false, and the holder has to look again.
func (b *baton) drop() bool { return b.v.CompareAndSwap(batonHeld, batonFree) }

// let gives the baton up whatever was asked, for a holder who panics.
func (b *baton) let() { b.v.Store(batonFree) }

// free reports whether nobody holds the baton.
func (b *baton) free() bool { return b.v.Load() == batonFree }
