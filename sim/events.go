package sim

import "time"

// What an event is about.
type eventKind uint8

const (
	callBorn     eventKind = iota // the next open-loop call
	callThought                   // a closed-loop caller has thought and calls
	callTries                     // a caller asks its breaker again
	callTimesOut                  // the client stops waiting for an answer
	callCancels                   // the caller loses interest
	callAnswered                  // an answer that needed no worker
	workEnds                      // a worker has served a call
	phaseBegins                   // the dependency changes
	secondEnds                    // the books of one second are closed
)

// event is an appointment of the engine. An event of a call carries the
// call's stamp of when it was made; the call has moved on if its stamp has.
type event struct {
	at     time.Duration
	order  uint64 // among events of the same instant
	stamp  uint32
	call   int32 // index of the call, of the worker or of the phase
	kind   eventKind
	failed bool
}

func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.order < f.order
}

// agenda hands events out in order of time, and of being made where times are
// equal. Ten thousand waiting callers make a heap slow, so only the events of
// the slot under way are in a heap; those of the next two seconds lie
// unsorted in a wheel of slots, the few later ones in a second heap.
type agenda struct {
	near, far eventHeap
	wheel     [slots][]event
	slot      int64 // the slot under way
	inWheel   int
	made      uint64
}

const (
	slotBits = 19 // a slot is 2^19 ns, about half a millisecond
	slots    = 4096
)

func slotOf(at time.Duration) int64 { return int64(at) >> slotBits }

func (a *agenda) add(e event) {
	a.made++
	e.order = a.made
	switch s := slotOf(e.at); {
	case s <= a.slot:
		a.near.push(e)
	case s < a.slot+slots:
		a.wheel[s%slots] = append(a.wheel[s%slots], e)
		a.inWheel++
	default:
		a.far.push(e)
	}
}

func (a *agenda) next() (event, bool) {
	for len(a.near) == 0 {
		if !a.turn() {
			return event{}, false
		}
	}
	return a.near.pop(), true
}

// turn moves on to the next slot, or to that of the next event where the
// wheel is empty. It reports whether there is any event left.
func (a *agenda) turn() bool {
	a.slot++
	if a.inWheel == 0 {
		if len(a.far) == 0 {
			return false
		}
		a.slot = max(a.slot, slotOf(a.far[0].at))
	}
	s := &a.wheel[a.slot%slots]
	for _, e := range *s {
		a.near.push(e)
	}
	a.inWheel -= len(*s)
	*s = (*s)[:0]
	for len(a.far) > 0 && slotOf(a.far[0].at) <= a.slot {
		a.near.push(a.far.pop())
	}
	return true
}

// eventHeap has the earliest event first and four children to a node.
type eventHeap []event

func (h *eventHeap) push(e event) {
	*h = append(*h, e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&a[parent]) {
			break
		}
		a[i] = a[parent]
		i = parent
	}
	a[i] = e
}

func (h *eventHeap) pop() event {
	a := *h
	first, e := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return first
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= len(a) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(a)); c++ {
			if a[c].before(&a[least]) {
				least = c
			}
		}
		if !a[least].before(&e) {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = e
	return first
}
