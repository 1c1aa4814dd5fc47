package atomic

import "unsafe"

// Record, if not nil, is told of every access to memory that an instrumented
// build makes visible: each operation of this package, after Hook, and each
// field that [R], [W] or a [Mutex] stands for. An operation that may write
// counts as a write even where it does not: a processor takes the line for a
// failed compare-and-swap as it does for one that succeeds. It is set while
// nothing runs.
var Record func(address, size uintptr, writes bool)

const read, write = false, true

func record(p unsafe.Pointer, size uintptr, writes bool) {
	if f := Record; f != nil && size > 0 {
		f(uintptr(p), size, writes)
	}
}

// R stands around a field that is read without an atomic operation.
func R[T any](p *T) *T {
	record(unsafe.Pointer(p), unsafe.Sizeof(*p), read)
	return p
}

// W stands around a field that is written without one.
func W[T any](p *T) *T {
	record(unsafe.Pointer(p), unsafe.Sizeof(*p), write)
	return p
}

// Mutex stands in for sync.Mutex. It is as large, and Lock and Unlock each
// write its word once. What it guards runs without a pause, as if those who
// wait stood in a queue and touched nothing: the least that a mutex can cost.
type Mutex struct {
	state int32
	_     uint32 // the semaphore
}

// Lock takes the mutex.
func (m *Mutex) Lock() {
	step(unsafe.Pointer(m), write)
	if m.state != 0 {
		panic("atomic: somebody was let go on while a mutex was held")
	}
	m.state = 1
}

// Unlock gives it back.
func (m *Mutex) Unlock() {
	record(unsafe.Pointer(m), 1, write)
	m.state = 0
}

// Allocated, if not nil, is told of every stripe that a ring allocates.
var Allocated func(address, size uintptr)

// Stripe passes a ring's new stripe on and tells of it.
func Stripe(words []Uint64) []Uint64 {
	if f := Allocated; f != nil {
		f(uintptr(unsafe.Pointer(&words[0])), uintptr(len(words))*unsafe.Sizeof(words[0]))
	}
	return words
}
