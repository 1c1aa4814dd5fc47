// Package gobreaker has the exported surface of github.com/sony/gobreaker/v2
// (v2.4.0) for breakers within a process, on top of the lock-free breaker of
// package atomicbreaker: change the import, and a program written against that
// documentation goes on as it did. What only the original has is
// DistributedCircuitBreaker with its store, whose state is shared over a network.
//
// New code does better with package atomicbreaker itself; docs/migrating.md
// tells how to move on.
//
// # What is the same
//
// Every setting, default and error, and the numbers in Counts: requests are
// counted when they are admitted, outcomes in the window that admitted them; a
// fixed window begins anew with the first call or State after it has ended, a
// rolling one moves by buckets; the open state ends when more than Timeout has
// passed. The half-open state admits MaxRequests in all, excluded ones aside,
// closes when as many have succeeded, and opens on the first failure.
//
// # What is better
//
//   - No mutex anywhere. A refusal reads no clock but in the last eighth of
//     Timeout.
//   - ReadyToTrip, IsSuccessful, IsExcluded and OnStateChange run with nothing
//     held: they may call the breaker, and run concurrently with each other.
//     OnStateChange alone is called one at a time, in order.
//   - A second call of the function that Allow returned does nothing; the
//     original counts the request twice.
//   - A request that ends its goroutine (runtime.Goexit) is counted like one
//     that panics; in the original a half-open breaker then refuses for ever.
//   - Requests that a half-open breaker waits for in silence for 5 minutes, or for Timeout if
//     that is longer, are given up: it opens again. The original waits for ever.
//   - A panic in ReadyToTrip, IsSuccessful or IsExcluded goes on to the caller,
//     and the request is counted as one failure; in the original, Execute runs the
//     function a second time and may count two failures or none. A panic in
//     OnStateChange is contained.
//
// # What is different
//
//   - The open state ends by itself, by a timer: OnStateChange tells of
//     half-open at once, and not when the next call comes or State is asked.
//   - Timeout is kept within 1 ms and 24 h, MaxRequests within 1024.
//   - ReadyToTrip is not asked about a window without any request. The original
//     does so for a failure that comes when its bucket has left the window.
//   - Counts is put together from several words. While other calls are being
//     counted, a copy may have a request whose outcome it lacks, as it has for
//     every request under way; it never has an outcome without its request.
//   - In a rolling window ReadyToTrip costs time for every bucket; the original
//     keeps sums and pays for every bucket when the window moves.
//   - Made outside of a testing/synctest bubble and used inside, a breaker stays
//     on real time.
package gobreaker
