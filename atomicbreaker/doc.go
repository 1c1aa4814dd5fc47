// Package atomicbreaker is a circuit breaker for calls that run often.
//
// A circuit breaker stands between a program and something that it depends on:
// a server, a database, a shard. While calls succeed it is closed and lets all
// of them through. When too many fail it opens and refuses calls at once, so
// that callers do not wait for answers that do not come, and the dependency is
// left in peace. After a cooldown it is half-open: it lets a few calls through
// as probes, more as they succeed, and closes when the dependency has handled
// growing load.
//
// Use it where a program calls something often that can fail or become too slow. It
// does not help with errors that depend on the request alone, and it sets no deadlines:
// set one for each call.
//
// A first program:
//
//	package main
//
//	import (
//		"context"
//		"errors"
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//	)
//
//	var inventory = atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
//
//	func main() {
//		stock, err := atomicbreaker.Do(context.Background(), inventory, func(ctx context.Context) (int, error) {
//			return 0, errors.New("connection refused") // call the dependency here
//		})
//		if atomicbreaker.IsRejected(err) {
//			stock, err = 7, nil // the breaker refused the call, nothing was sent: use another answer
//		}
//		fmt.Println(stock, err)
//	}
//
// Make one breaker for each dependency, when the program starts, and share it
// between goroutines. Everything in this package is safe for concurrent use.
// The zero [Config] is valid: the breaker opens when half of at least 10 calls
// of the last 10 s have failed, or 20 calls in a row. It stays open for half a
// second at first and for 5 s at most, and closes by itself.
//
// # Which call to use
//
//   - [Do] and [Breaker.Do] run a function and judge it by its error.
//   - [DoWith] also judges the result, where a failure is not an error, such as
//     a response with a status.
//   - [Breaker.AcquireContext] and [Breaker.Acquire] return a [Ticket] where a call
//     does not fit in a function: streams, callbacks, proxies. Settle each ticket
//     once, with [Ticket.Done], [Ticket.Report] or [Ticket.Cancel].
//   - [Breaker.Ready] asks whether a call would be admitted and claims nothing.
//     It is for choosing among backends.
//   - [Group] keeps a breaker for each host, shard or method, up to a limit.
//
// # What counts as a failure
//
// An error is a [Failure] and nil is a [Success]. A call whose context ended before
// the dependency had enough time is [Local], and the refusal of another breaker is
// [Ignored]: neither counts. [Config].Classify changes what errors mean: for example, "not found" is a Success,
// because the server has answered.
//
// # Trying it out, operating it, testing with it
//
// With [Config].Mode set to [Shadow] a breaker decides and announces, and
// refuses nobody. [Breaker.Trip], [Breaker.Reset] and [Breaker.SetMode] are for
// operators. [Breaker.Snapshot] has everything that a metric or a page shows;
// [Config].OnTransition is called with each change of state. In tests set
// [Config].Clock to a clock.Manual, or make the breaker inside a testing/synctest
// bubble: then no test waits.
//
// The packages under contrib put breakers into net/http, gRPC, Connect and Caddy,
// and show them in Prometheus, OpenTelemetry, log/slog and on a live page. The folder
// docs of the repository explains recovery, tuning, the order with retries and
// fallbacks, and what is promised:
// https://github.com/atomicbreaker/breaker/blob/main/docs/README.md
package atomicbreaker
