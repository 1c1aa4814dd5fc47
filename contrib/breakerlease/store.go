package breakerlease

import (
	"context"
	"fmt"
	"time"
)

// A Store keeps the leases of a [Fleet] and carries its messages, so that
// processes share them. Package leasetest has the tests that any Store must
// pass. All methods may be called concurrently, and end when ctx does.
type Store interface {
	// Acquire grants the lease of a name if nobody has it.
	Acquire(ctx context.Context, r Request) (Acquired, error)

	// Renew lets a lease live for ttl from now, and reports whether it is still
	// that of the token.
	Renew(ctx context.Context, name string, t Token, ttl time.Duration) (bool, error)

	// End ends a lease if it is still that of the token.
	End(ctx context.Context, name string, t Token, e Ending) error

	// Publish sends a message to all that listen, the sender too.
	Publish(ctx context.Context, message string) error

	// Listen calls heard with each message until ctx is done or the connection
	// has failed, which it must notice by itself. It calls listening when it
	// hears. Messages may be lost or come twice.
	Listen(ctx context.Context, listening func(), heard func(message string)) error

	// Warm makes sure that the next Acquire needs one round trip: that a
	// connection is open, and what it runs is known to the server.
	Warm(ctx context.Context) error
}

// Request asks a [Store] for a lease.
type Request struct {
	Name   string
	Holder string        // who asks, for people to read
	TTL    time.Duration // how long the lease lives that is not renewed

	// Limit is the longest that a lease may have left. One that lives longer does
	// not count: it is a mistake, or somebody else's. It is replaced.
	Limit time.Duration
}

// Acquired is what a [Store] answers to a [Request].
type Acquired struct {
	Granted  bool
	Token    Token         // of the lease, granted or out; zero: unknown
	Left     time.Duration // of the lease that is out; at least 1 ms
	Holder   string        // of the lease that is out
	Message  string        // the last that was kept for the name, while the lease is out; see Ending
	Replaced bool          // a lease that lived for too long was replaced
}

// Ending says how a lease ends.
type Ending struct {
	Release bool // at once

	// Otherwise, and unless both are 0, the lease goes on for what is left of it, at most Most and at least
	// Least.
	Least, Most time.Duration

	// Message is published, and kept for a minute for those that ask, unless a
	// later lease has been granted. Empty: none.
	Message string
}

// A Token names one lease. Numbers grow within an epoch, which is made with
// the counter and is lost with it. Tokens of different epochs have no order.
type Token struct {
	Epoch  string // letters and digits
	Number uint64
}

// String returns the epoch, a dot and the number.
func (t Token) String() string { return fmt.Sprintf("%s.%d", t.Epoch, t.Number) }
