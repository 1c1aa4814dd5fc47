package atomicbreaker

import (
	"fmt"
	"runtime"
)

// make makes a key's breaker. The fault, if any, is that of a configuration
// in whose place the base configuration was used.
func (g *Group[K]) make(key K) (b *Breaker, fault error) {
	base := g.config.Config
	base.Name = groupName(base.Name, fmt.Sprint(key))
	if g.config.Configure == nil {
		return MustNew(base), nil
	}
	b, fault = New(g.configure(key, base))
	if fault != nil {
		fault = fmt.Errorf("atomicbreaker: Group key %v is misconfigured, using GroupConfig.Config: %w", key, fault)
		g.mu.Lock()
		g.misconfigured++
		g.mu.Unlock()
		b = MustNew(base)
	}
	return b, fault
}

// maxNested is how deep one Configure may ask for the key of another.
const maxNested = 64

// configure asks Configure. One that asks for its own key nests without end:
// it panics at maxNested. Few are under way at a time, so the stack is looked at
// only when there are enough of them to be nested as deep.
func (g *Group[K]) configure(key K, base Config) Config {
	defer g.configuring.Add(-1)
	if g.configuring.Add(1) > maxNested && nested() > maxNested {
		panic(fmt.Sprintf("atomicbreaker: GroupConfig.Configure for key %v asks the Group for that same key, itself or through other keys", key))
	}
	return g.config.Configure(key, base)
}

// nested returns how often the function that calls it is on this goroutine's
// stack.
func nested() int {
	stack := make([]uintptr, 1024)
	depth := runtime.Callers(2, stack)
	for depth == len(stack) {
		stack = make([]uintptr, 2*len(stack))
		depth = runtime.Callers(2, stack)
	}
	frames := runtime.CallersFrames(stack[:depth])
	caller, more := frames.Next()
	n := 1
	for more {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == caller.Function {
			n++
		}
	}
	return n
}
