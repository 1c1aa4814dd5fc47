package atomicbreaker

import (
	"context"
	"runtime/trace"
)

// What an execution trace (runtime/trace) shows of a breaker: its probes and
// its changes of state as log events of this category, and the functions that
// Do runs as probes as regions. Nothing of it is on the way of an ordinary
// call, and while no trace is taken it costs a load.
const (
	traceCategory = "atomicbreaker"
	traceRegion   = "atomicbreaker probe"
)

// traceEvent logs what happened to the breaker. Callers ask trace.IsEnabled
// first, so that no text is made for nobody.
func (b *Breaker) traceEvent(what string) {
	trace.Log(context.Background(), traceCategory, b.cfg.Name+": "+what)
}

// traceProbe begins the region of a probe that Do runs, which ends when the
// function that it returns is called, on the same goroutine.
func traceProbe(ctx context.Context) (end func()) {
	if !trace.IsEnabled() {
		return func() {}
	}
	return trace.StartRegion(ctx, traceRegion).End
}
