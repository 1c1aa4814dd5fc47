package breakertrace

import (
	"context"
	"runtime/trace"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Category is the category of the log events.
const Category = "atomicbreaker"

// Config returns c with listeners added that log to the execution trace. A
// listener that c has already is called after them.
func Config(c atomicbreaker.Config) atomicbreaker.Config {
	c.OnTransition = atomicbreaker.Transitions(Transition, c.OnTransition)
	theirs := c.OnProbe
	if theirs == nil {
		c.OnProbe = Probe
		return c
	}
	c.OnProbe = func(p atomicbreaker.Probe) {
		Probe(p)
		theirs(p)
	}
	return c
}

// Transition logs a change of state. It is a listener for
// atomicbreaker.Config.OnTransition.
func Transition(t atomicbreaker.Transition) {
	if trace.IsEnabled() {
		trace.Log(context.Background(), Category, t.Name+": "+t.From.String()+" to "+t.To.String()+": "+t.Reason.String())
	}
}

// Probe logs a probe that has been settled. It is a listener for
// atomicbreaker.Config.OnProbe.
func Probe(p atomicbreaker.Probe) {
	if trace.IsEnabled() {
		trace.Log(context.Background(), Category, p.Name+": probe: "+p.Outcome.String()+" after "+p.Latency.String())
	}
}
