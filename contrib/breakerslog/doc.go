// Package breakerslog writes a breaker's changes of state to a log/slog Logger.
//
// Use it when an outage should be visible in the log. A first program:
//
//	package main
//
//	import (
//		"log/slog"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerslog"
//	)
//
//	func main() {
//		b := atomicbreaker.MustNew(atomicbreaker.Config{
//			Name:         "inventory",
//			OnTransition: breakerslog.Listener(slog.Default(), nil),
//		})
//		b.Trip() // one record at level Warn
//	}
//
// An outage is two records: one at level Warn when the breaker opens, with what
// made it open, and one at level Info when it closes, with how long that took and
// how many probes failed. One that lasts is logged again, at level Warn, after 5
// minutes and then less and less often. What happens in between is at level Debug. A
// breaker that opens and closes often does not fill the log.
//
// # Choices
//
// One Listener may serve many breakers. To use it together with other listeners, join
// them with atomicbreaker.Transitions. [Options] change the levels, the limit of
// records and the reminders, and add the latest error. A [Snapshot] is a log value with the state of a breaker at the moment.
package breakerslog
