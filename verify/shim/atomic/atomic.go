// Package atomic stands in for sync/atomic in an instrumented build of the
// breaker: the same types with the same layout, and a hook that runs before
// each operation. The checks of this module build the real sources of packages
// atomicbreaker and ring with their import of sync/atomic replaced by this
// package (see internal/overlay), so that a scheduler decides at every atomic
// operation who goes on. Production builds never see it.
package atomic

import (
	"sync/atomic"
	"unsafe"
)

// Hook, if not nil, runs before every operation. It is set while nothing runs.
var Hook func()

// Steps counts operations while Hook is set, to prove that a build is an
// instrumented one.
var Steps uint64

func step(p unsafe.Pointer, writes bool) {
	if h := Hook; h != nil {
		Steps++
		h()
	}
	record(p, 1, writes) // none straddles a line
}

// Uint64 is sync/atomic's, with the hook before each operation.
type Uint64 struct{ v atomic.Uint64 }

func (x *Uint64) Load() uint64         { step(unsafe.Pointer(x), read); return x.v.Load() }
func (x *Uint64) Store(n uint64)       { step(unsafe.Pointer(x), write); x.v.Store(n) }
func (x *Uint64) Swap(n uint64) uint64 { step(unsafe.Pointer(x), write); return x.v.Swap(n) }
func (x *Uint64) Add(d uint64) uint64  { step(unsafe.Pointer(x), write); return x.v.Add(d) }
func (x *Uint64) Or(m uint64) uint64   { step(unsafe.Pointer(x), write); return x.v.Or(m) }
func (x *Uint64) And(m uint64) uint64  { step(unsafe.Pointer(x), write); return x.v.And(m) }
func (x *Uint64) CompareAndSwap(old, n uint64) bool {
	step(unsafe.Pointer(x), write)
	return x.v.CompareAndSwap(old, n)
}

// Int64 is sync/atomic's, with the hook before each operation.
type Int64 struct{ v atomic.Int64 }

func (x *Int64) Load() int64        { step(unsafe.Pointer(x), read); return x.v.Load() }
func (x *Int64) Store(n int64)      { step(unsafe.Pointer(x), write); x.v.Store(n) }
func (x *Int64) Swap(n int64) int64 { step(unsafe.Pointer(x), write); return x.v.Swap(n) }
func (x *Int64) Add(d int64) int64  { step(unsafe.Pointer(x), write); return x.v.Add(d) }
func (x *Int64) CompareAndSwap(old, n int64) bool {
	step(unsafe.Pointer(x), write)
	return x.v.CompareAndSwap(old, n)
}

// Uint32 is sync/atomic's, with the hook before each operation.
type Uint32 struct{ v atomic.Uint32 }

func (x *Uint32) Load() uint32         { step(unsafe.Pointer(x), read); return x.v.Load() }
func (x *Uint32) Store(n uint32)       { step(unsafe.Pointer(x), write); x.v.Store(n) }
func (x *Uint32) Swap(n uint32) uint32 { step(unsafe.Pointer(x), write); return x.v.Swap(n) }
func (x *Uint32) Add(d uint32) uint32  { step(unsafe.Pointer(x), write); return x.v.Add(d) }
func (x *Uint32) CompareAndSwap(old, n uint32) bool {
	step(unsafe.Pointer(x), write)
	return x.v.CompareAndSwap(old, n)
}

// Int32 is sync/atomic's, with the hook before each operation.
type Int32 struct{ v atomic.Int32 }

func (x *Int32) Load() int32        { step(unsafe.Pointer(x), read); return x.v.Load() }
func (x *Int32) Store(n int32)      { step(unsafe.Pointer(x), write); x.v.Store(n) }
func (x *Int32) Swap(n int32) int32 { step(unsafe.Pointer(x), write); return x.v.Swap(n) }
func (x *Int32) Add(d int32) int32  { step(unsafe.Pointer(x), write); return x.v.Add(d) }
func (x *Int32) CompareAndSwap(old, n int32) bool {
	step(unsafe.Pointer(x), write)
	return x.v.CompareAndSwap(old, n)
}

// Bool is sync/atomic's, with the hook before each operation.
type Bool struct{ v atomic.Bool }

func (x *Bool) Load() bool       { step(unsafe.Pointer(x), read); return x.v.Load() }
func (x *Bool) Store(n bool)     { step(unsafe.Pointer(x), write); x.v.Store(n) }
func (x *Bool) Swap(n bool) bool { step(unsafe.Pointer(x), write); return x.v.Swap(n) }
func (x *Bool) CompareAndSwap(old, n bool) bool {
	step(unsafe.Pointer(x), write)
	return x.v.CompareAndSwap(old, n)
}

// Pointer is sync/atomic's, with the hook before each operation.
type Pointer[T any] struct{ v atomic.Pointer[T] }

func (x *Pointer[T]) Load() *T     { step(unsafe.Pointer(x), read); return x.v.Load() }
func (x *Pointer[T]) Store(n *T)   { step(unsafe.Pointer(x), write); x.v.Store(n) }
func (x *Pointer[T]) Swap(n *T) *T { step(unsafe.Pointer(x), write); return x.v.Swap(n) }
func (x *Pointer[T]) CompareAndSwap(old, n *T) bool {
	step(unsafe.Pointer(x), write)
	return x.v.CompareAndSwap(old, n)
}

// Actor is the number of the actor that runs, in place of the address of its
// stack, by which the ring tells goroutines apart. It is spread so that two
// neighbours fall on different stripes.
var Actor atomic.Uint64
