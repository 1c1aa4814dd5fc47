package clock

import (
	"context"
	"time"
)

// UntilDeadline returns how long it is until ctx's deadline, at least 1 ns, and
// whether it has one. Deadlines are instants of Go's own clock, whatever clock the
// caller goes by otherwise.
func UntilDeadline(ctx context.Context) (time.Duration, bool) {
	at, ok := ctx.Deadline()
	if !ok {
		return 0, false
	}
	return max(time.Until(at), 1), true
}
