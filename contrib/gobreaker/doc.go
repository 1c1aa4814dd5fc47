// Package gobreaker has the exported surface of github.com/sony/gobreaker/v2
// (v2.4.0) for breakers within a process, on top of the lock-free breaker of
// package atomicbreaker: change the import, and a program written against that
// documentation goes on as it did. Only DistributedCircuitBreaker and its store are
// missing.
//
// Use it in a program that has gobreaker. New code is better with package
// atomicbreaker itself; docs/migrating.md of the repository explains how to move on. A
// first program:
//
//	package main
//
//	import (
//		"errors"
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/contrib/gobreaker"
//	)
//
//	func main() {
//		cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Name: "inventory"})
//		n, err := cb.Execute(func() (int, error) { return 7, nil })
//		if errors.Is(err, gobreaker.ErrOpenState) {
//			fmt.Println("refused")
//			return
//		}
//		fmt.Println(n, err)
//	}
//
// # What is the same
//
// Every setting and default, the errors, compared with ==, and the numbers in Counts,
// to the nanosecond at which they change. Requests are counted when they are
// admitted, outcomes only while the window that admitted them lasts. A fixed
// window is cleared by the first request or State after more than Interval; a rolling one
// moves by buckets. The first request or State after more than Timeout makes
// the breaker half-open, and OnStateChange is told by it, on its goroutine. The half-open state
// admits MaxRequests in all, those excluded left out, closes when as many have
// succeeded, and opens on the first failure.
//
// # What is better
//
//   - There is no mutex. Neither a refusal nor an ordinary request reads the
//     clock, but for the last 20 ms before something is due.
//   - ReadyToTrip, IsSuccessful, IsExcluded and OnStateChange run with nothing
//     held: they may call the breaker. In the original that is a deadlock.
//   - A second call of the function that Allow has returned does nothing. The
//     original counts the request twice, and may close on it.
//   - A request that ends its goroutine (runtime.Goexit) counts like one that
//     panics. In the original a half-open breaker then refuses for ever.
//   - Requests that a half-open breaker has waited for without a result for 5
//     minutes, or for Timeout if that is longer, are given up, and it opens
//     again. The original waits for ever.
//   - If ReadyToTrip, IsSuccessful or IsExcluded panics, the panic goes on and
//     the request counts as one failure. In the original, Execute asks a second
//     time, and counts two failures or none. A panic in OnStateChange is
//     contained.
//
// # What is different
//
//   - ReadyToTrip, IsSuccessful and IsExcluded may run at the same time as
//     themselves: one that keeps numbers of its own needs a lock.
//     OnStateChange is called one at a time and in order.
//   - Timeout is kept within 1 ms and 24 h less a nanosecond, MaxRequests
//     within 1024. A rolling window of more than 131 072 buckets is refused
//     with a panic; in the original, moving it takes time that grows with the square
//     of their number.
//   - ReadyToTrip is not asked about a window without any request. The original
//     does so for a failure whose bucket has left the window.
//   - While other requests are being counted, a copy of Counts may lack an outcome whose
//     request it has, as it does for every request under way. It has none
//     without its request.
//   - When Timeout is over, one request moves the breaker to half-open. Others
//     that come while it does so are still refused.
//   - In a rolling window a failure costs time for every bucket; the original
//     keeps sums, and pays for every bucket when the window moves.
//   - Allow allocates two objects instead of one, for the guard of done.
package gobreaker
