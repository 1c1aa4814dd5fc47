package coherence

import "math/bits"

// maxCores is the most processors that a set of holders has room for.
const maxCores = 128

// A cores is a set of processors.
type cores [maxCores / 64]uint64

func (c cores) has(i int) bool { return c[i/64]>>(i%64)&1 != 0 }
func (c *cores) add(i int)     { c[i/64] |= 1 << (i % 64) }
func (c cores) len() int       { return bits.OnesCount64(c[0]) + bits.OnesCount64(c[1]) }
func only(i int) (c cores)     { c.add(i); return c }

// state is that of a line in the caches that hold it: modified or exclusive in
// one, or shared by any number. Nobody holds a line that is invalid everywhere.
type state uint8

const (
	invalid state = iota
	shared
	exclusive
	modified
)

// line is one cache line as all caches see it.
type line struct {
	state     state
	holders   cores
	transfers uint64
}

// caches are the private caches of all processors, each without a limit, kept
// coherent by MESI.
type caches struct {
	shift     uint // log2 of a line's bytes
	lines     map[uintptr]*line
	transfers uint64
}

func newCaches(shift uint) *caches { return &caches{shift: shift, lines: map[uintptr]*line{}} }

// access is one processor's access to some bytes.
func (c *caches) access(core int, address, size uintptr, writes bool) {
	for n := address >> c.shift; n <= (address+size-1)>>c.shift; n++ {
		l := c.lines[n]
		if l == nil {
			l = new(line)
			c.lines[n] = l
		}
		if l.touch(core, writes) {
			l.transfers++
			c.transfers++
		}
	}
}

// touch moves the line to the state that an access leaves it in and reports
// whether the processor had to ask another: for its contents, or to give it up.
// Contents that no cache holds come from memory, which is no transfer.
func (l *line) touch(core int, writes bool) (asked bool) {
	holds := l.holders.has(core)
	switch {
	case l.state == invalid:
		l.holders = only(core)
		l.state = exclusive
		if writes {
			l.state = modified
		}
		return false
	case writes:
		asked = !holds || l.holders.len() > 1
		l.holders, l.state = only(core), modified
		return asked
	case holds:
		return false
	default:
		l.holders.add(core)
		l.state = shared
		return true
	}
}

// forget begins to count anew, with the caches as they are.
func (c *caches) forget() {
	c.transfers = 0
	for _, l := range c.lines {
		l.transfers = 0
	}
}

// hottest is the number of transfers of the line that had the most.
func (c *caches) hottest() (most uint64) {
	for _, l := range c.lines {
		most = max(most, l.transfers)
	}
	return most
}
