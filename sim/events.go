package sim

import "time"

// What an event is about.
type eventKind uint8

const (
	callBorn     eventKind = iota // the next open-loop call
	callThought                   // a closed-loop caller has thought and calls
	callTries                     // a caller asks its breaker, for the first time or again
	callTimesOut                  // the client stops waiting for an answer
	callCancels                   // the caller loses interest
	callAnswered                  // an answer that needed no worker
	workEnds                      // a worker has served a call
	phaseBegins                   // the dependency or the surge changes
	secondEnds                    // the books of one second are closed
)

// event is an appointment of the engine. An event of a call carries the
// call's stamp of when it was made; the call has moved on if its stamp has.
type event struct {
	at     time.Duration
	order  uint64 // among events of the same instant
	stamp  uint32
	call   int32 // index of the call, of the worker's job or of the phase
	kind   eventKind
	failed bool
}

func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.order < f.order
}

// agenda is a heap of events with four children to a node, which halves the
// depth of a binary one; most events here are timeouts that nobody waits for.
type agenda struct {
	heap []event
	made uint64
}

func (a *agenda) add(e event) {
	a.made++
	e.order = a.made
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

func (a *agenda) next() (event, bool) {
	if len(a.heap) == 0 {
		return event{}, false
	}
	first := a.heap[0]
	last := a.heap[len(a.heap)-1]
	a.heap = a.heap[:len(a.heap)-1]
	if len(a.heap) > 0 {
		a.sink(last)
	}
	return first, true
}

// sink puts e where the first event was and lets it find its place.
func (a *agenda) sink(e event) {
	i := 0
	for {
		least := 4*i + 1
		if least >= len(a.heap) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(a.heap)); c++ {
			if a.heap[c].before(&a.heap[least]) {
				least = c
			}
		}
		if !a.heap[least].before(&e) {
			break
		}
		a.heap[i] = a.heap[least]
		i = least
	}
	a.heap[i] = e
}
