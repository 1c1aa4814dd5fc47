//go:build interleave

package coherence

import (
	"iter"
	"math/rand/v2"

	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

// machine lets simulated processors run the instrumented code, one atomic
// operation at a time in an order drawn from a seed, and passes what they do to
// memory on to caches. Only one machine may run at a time in a process.
type machine struct {
	processors []*processor
	random     *rand.Rand
	calls      int // that the processors have ended
	accesses   int // that were recorded
	stopping   bool
	layouts    []layout
	current    int
}

// processor is a coroutine that stops before each of its atomic operations.
type processor struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	page  uint64 // of its goroutine's stack
	calls int    // since restart
}

// layout is one way in which memory may be laid out, and its caches.
type layout struct {
	place  func(address uintptr) uintptr // nil: as it is
	caches *caches
}

// stacks is where the Go runtime's heap begins on 64-bit machines, in pages of
// the size of the smallest stack; the simulated ones lie in 64 MiB from there.
const (
	stacks    = 0xc000000000 >> 11
	stackSpan = 64 << 20 >> 11
)

// newMachine makes a machine of n processors, each of which makes calls without
// end.
func newMachine(seed uint64, n int, call func(processor int) func()) *machine {
	m := &machine{random: rand.New(rand.NewPCG(seed, uint64(n)))}
	pages := m.random.Perm(stackSpan)
	for i := range n {
		p := &processor{page: stacks + uint64(pages[i])}
		p.next, _ = iter.Pull(func(yield func(struct{}) bool) {
			p.yield = yield
			one := call(i)
			for !m.stopping {
				one()
				m.calls++
				p.calls++
			}
		})
		m.processors = append(m.processors, p)
	}
	return m
}

// run goes on until so many more calls have ended.
func (m *machine) run(calls int) {
	atomic.Hook = func() { m.processors[m.current].yield(struct{}{}) }
	for end := m.calls + calls; m.calls < end; {
		m.step(m.random.IntN(len(m.processors)))
	}
	atomic.Hook = nil
}

func (m *machine) step(i int) (more bool) {
	m.current = i
	atomic.Actor.Store(m.processors[i].page)
	_, more = m.processors[i].next()
	return more
}

// fewest is the number of calls since restart of the processor that has made fewest.
func (m *machine) fewest() int {
	n := m.processors[0].calls
	for _, p := range m.processors {
		n = min(n, p.calls)
	}
	return n
}

// restart begins to count the calls of each processor anew.
func (m *machine) restart() {
	for _, p := range m.processors {
		p.calls = 0
	}
}

// record begins to pass accesses on to the caches. What happens outside run, as
// the timer's callback does, happens on the processor that ran last.
func (m *machine) record() {
	atomic.Record = func(address, size uintptr, writes bool) {
		m.accesses++
		for _, l := range m.layouts {
			at := address
			if l.place != nil {
				at = l.place(address)
			}
			l.caches.access(m.current, at, size, writes)
		}
	}
}

// stop lets the processors end their calls.
func (m *machine) stop() {
	m.stopping = true
	atomic.Record = nil
	atomic.Hook = func() { m.processors[m.current].yield(struct{}{}) }
	for i := range m.processors {
		for m.step(i) {
		}
	}
	atomic.Hook = nil
	atomic.Allocated = nil
}

// stripes are where a ring's stripes lie: their 128-byte blocks, by address.
type stripes struct {
	blocks map[uintptr]block
	n      uintptr
}

// block says that a block is so many bytes into a stripe.
type block struct{ stripe, offset uintptr }

const blockSize = 128 // stripes begin and end at multiples of it

// listen keeps account of the stripes that are allocated from now on.
func (s *stripes) listen() {
	s.blocks = map[uintptr]block{}
	atomic.Allocated = func(address, size uintptr) {
		for at := uintptr(0); at < size; at += blockSize {
			s.blocks[(address+at)/blockSize] = block{s.n, at}
		}
		s.n++
	}
}

// packed lays the words of all stripes side by side: the first word of each,
// then the second of each, far from any address that is in use. Everything
// else stays where it is.
func (s *stripes) packed(address uintptr) uintptr {
	const most, word, elsewhere = 256, 8, 1 << 56
	b, ok := s.blocks[address/blockSize]
	if !ok {
		return address
	}
	in := b.offset + address%blockSize
	return elsewhere + (in/word*most+b.stripe)*word + in%word
}
