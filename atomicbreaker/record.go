package atomicbreaker

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A record is what belongs to one generation beside the word. Whoever tries to
// begin a generation writes a record of his own before he changes the word, and
// drops it if another was faster. So for the generation that the word shows
// there is a record, also while its writer sleeps right after the change:
//
//	tempting                         and wrong
//	word = open                      a reader sees open with the reason and the
//	reason, since = why, now         instant of the change before
//
// The head says whose the record is and how far it has come:
//
//	 63           32 31      12 11    4 3    2 1     0
//	+---------------+----------+-------+------+-------+
//	|  generation   |  number  |reason |phase |status |
//	+---------------+----------+-------+------+-------+
//
//	number  differs from one use of the record to the next, so that a reader
//	        finds out that it was used again while he read
type record struct {
	head     atomic.Uint64
	since    atomic.Int64  // instant at which the state began
	timeOpen atomic.Int64  // in openings that were over then
	opened   atomic.Uint64 // openings, with this one; the doubt in the low bits, see maxDoubt
}

// maxDoubt: each stay in half-open of one outage that had successes and ended with
// failures raises the doubt by one, up to this. A dependency that fails in part is
// asked less each time, see tolerance.
const (
	doubtBits = 2
	maxDoubt  = 1<<doubtBits - 1
)

type recordHead uint64

const (
	recordFree    recordHead = iota // nobody's
	recordWritten                   // being written: the word has not been changed
	recordTried                     // whole; the word may have been changed by it
	recordDone                      // the word has been changed by it
	recordStatus  = recordHead(3)

	recordPhaseShift  = 2
	recordReasonShift = 4
	recordNumberShift = 12
	recordNumberMask  = 1<<20 - 1
)

func (h recordHead) status() recordHead { return h & recordStatus }
func (h recordHead) phase() phase       { return word(h>>recordPhaseShift) & phaseMask }
func (h recordHead) reason() Reason     { return Reason(h >> recordReasonShift) }
func (h recordHead) number() recordHead { return h >> recordNumberShift & recordNumberMask }
func (h recordHead) generation() uint32 { return uint32(h >> generationShift) }

func (h recordHead) with(status recordHead) recordHead { return h&^recordStatus | status }

// newUse is the head of a record, h until now, that is taken for a change to w.
func (h recordHead) newUse(w word, why Reason) recordHead {
	number := (h.number() + 1) & recordNumberMask
	return recordHead(w.generation())<<generationShift | number<<recordNumberShift |
		recordHead(why)<<recordReasonShift | recordHead(w.phase())<<recordPhaseShift | recordWritten
}

// free reports whether a record may be taken by one who has seen the
// generation current in the word: it is nobody's, or an earlier generation's, to
// which the word does not come back.
func (h recordHead) free(current uint32) bool {
	return h.status() == recordFree ||
		h.status() != recordWritten && int32(h.generation()-current) < 0
}

// began is how the present state began.
type began struct {
	reason   Reason
	since    time.Duration
	timeOpen time.Duration
	opened   uint64
	doubt    uint64
}

// records are the records of a breaker: one for the generation that is and one
// for who begins the next, made with the breaker, and more if more try at once.
// What is made is kept.
type records struct {
	own  record
	more atomic.Pointer[moreRecords]
}

type moreRecords struct {
	record
	next *moreRecords // never changes
}

// each calls f with every record until f returns false.
func (r *records) each(f func(*record) bool) {
	if !f(&r.own) {
		return
	}
	for x := r.more.Load(); x != nil && f(&x.record); x = x.next {
	}
}

// add makes one more record, whose head is h.
func (r *records) add(h recordHead) *record {
	x := new(moreRecords)
	x.head.Store(uint64(h))
	for {
		x.next = r.more.Load()
		if r.more.CompareAndSwap(x.next, x) {
			return &x.record
		}
	}
}

// write writes a record for the change from w to next. [E2 publish]
func (r *records) write(w, next word, why Reason, x began) (*record, recordHead) {
	var mine *record
	var head recordHead
	r.each(func(x *record) bool {
		h := recordHead(x.head.Load())
		if h.free(w.generation()) {
			if head = h.newUse(next, why); x.head.CompareAndSwap(uint64(h), uint64(head)) {
				mine = x
			}
		}
		return mine == nil
	})
	if mine == nil {
		head = recordHead(recordFree).newUse(next, why)
		mine = r.add(head)
	}
	mine.since.Store(int64(x.since))
	mine.timeOpen.Store(int64(x.timeOpen))
	mine.opened.Store(x.opened<<doubtBits | x.doubt)
	head = head.with(recordTried)
	mine.head.Store(uint64(head))
	return mine, head
}

// settle says what became of the change. If another use has been made of the
// record since, it was of an earlier generation, and nothing depends on it.
func (x *record) settle(head recordHead, changed bool) {
	to := recordHead(recordFree)
	if changed {
		to = recordDone
	}
	x.head.CompareAndSwap(uint64(head), uint64(head.with(to)))
}

// recordTries is how often a reader looks who finds several that try to
// begin the very generation that the word shows, and none that says it did.
const recordTries = 64

// of returns how the state of w began. It reports false if the word has gone
// on. Where it stays open for long whose change it was, because several sleep
// in the middle of it, the latest of them counts.
func (r *records) of(w word) (found began, ok bool) {
	for range recordTries {
		count := 0
		done := false
		r.each(func(x *record) bool {
			b, status := x.read(w)
			if status == recordFree {
				return true
			}
			count++
			if done = status == recordDone; done || count == 1 || b.since > found.since {
				found = b
			}
			return !done
		})
		if done || count <= 1 {
			return found, count == 1 || done
		}
		runtime.Gosched()
	}
	return found, true
}

// read returns what a record says of the state of w, and its status: recordFree
// if it is not about w.
func (x *record) read(w word) (b began, status recordHead) {
	for {
		h := recordHead(x.head.Load())
		if h.status() < recordTried || h.generation() != w.generation() || h.phase() != w.phase() {
			return began{}, recordFree
		}
		b = began{
			reason: h.reason(), since: time.Duration(x.since.Load()),
			timeOpen: time.Duration(x.timeOpen.Load()),
		}
		opened := x.opened.Load()
		b.opened, b.doubt = opened>>doubtBits, opened&maxDoubt
		if after := recordHead(x.head.Load()); after.with(recordDone) == h.with(recordDone) && after.status() >= recordTried {
			return b, after.status()
		}
	}
}

// start writes the record of a new breaker.
func (r *records) start(w word, now time.Duration) {
	x := began{since: now}
	if w.phase() == phaseOpen {
		x.opened = 1
	}
	mine, head := r.write(w, w, ReasonNone, x)
	mine.settle(head, true)
	r.add(recordFree)
}

// follow is how the state of next begins, at now, if it follows x in state w.
func (x began) follow(w, next word, why Reason, now time.Duration) began {
	if w.phase() == next.phase() {
		return x // a Reset of a closed breaker
	}
	if w.phase() == phaseOpen {
		x.timeOpen = later(x.timeOpen, passed(x.since, now))
	}
	if next.phase() == phaseOpen {
		x.opened++
	}
	x.reason, x.since = why, now
	return x
}
