package atomicbreaker

import "context"

// Class is how much a call matters. While a breaker is half-open, calls that
// matter less see a smaller probe window: what a dependency can do in an overload or
// after an outage goes to those that matter most. A breaker that is closed or open
// treats all alike.
type Class uint8

const (
	// Critical calls see the whole window. A call that says nothing is Critical.
	Critical Class = iota

	// Normal calls see half of it.
	Normal

	// Sheddable calls see a quarter of it: those that nobody misses for a while.
	Sheddable
)

// classPlaces are the quarters of the window that a class sees.
var classPlaces = [...]int{Critical: 4, Normal: 2, Sheddable: 1}

var classNames = [...]string{"critical", "normal", "sheddable"}

// String returns critical, normal or sheddable.
func (c Class) String() string { return nameOf(classNames[:], "class", uint64(c)) }

// MarshalText returns the same text as String. It fails for an unknown class.
func (c Class) MarshalText() ([]byte, error) { return textOf(classNames[:], "class", uint64(c)) }

// UnmarshalText accepts what MarshalText returns.
func (c *Class) UnmarshalText(text []byte) error { return parseName(c, classNames[:], "class", text) }

type classKey struct{}

// WithClass returns a context that says how much the calls made under it matter, for
// [Do], [Breaker.Do], [DoWith] and [Breaker.AcquireContext]. It panics on a Class
// other than these three.
func WithClass(ctx context.Context, c Class) context.Context {
	if c > Sheddable {
		panic("atomicbreaker: " + c.String() + ": want Critical, Normal or Sheddable")
	}
	return context.WithValue(ctx, classKey{}, c)
}

// places is how many probes may be in flight for a call under ctx to be admitted: at
// least one, so that a dependency is found well again whoever calls it.
func (w word) places(ctx context.Context) int {
	if ctx != nil {
		if c, ok := ctx.Value(classKey{}).(Class); ok {
			return max(w.window()*classPlaces[c]/4, 1)
		}
	}
	return w.window()
}
