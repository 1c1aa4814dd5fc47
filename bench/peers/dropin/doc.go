// Package dropin drives sony/gobreaker and the package contrib/gobreaker that
// stands in for it with the same random programs under the fake time of a
// testing/synctest bubble, and demands the same answers of both: results and
// errors, panics, Counts after every step, State, and what the user's functions
// are asked and told, in the same order.
//
// Where the two differ on purpose, the program takes that into account:
//
//   - A second call of done is made on ours only, and must change nothing.
//   - A request that ends its goroutine is run on ours; the original gets one
//     that returns the error which ours is to count it as.
//   - The original is given MaxRequests and Timeout within the limits of ours.
//   - The original's question about a window without requests is answered no and
//     not noted.
//   - Time stands still rather than let requests be silent for so long in
//     half-open that ours gives them up.
//
// Version 1 of both is driven by the same programs, without a rolling window and excluded
// requests. There a request of ours that ends its goroutine is one of the original's that panics.
//
// Functions that panic or call back, and what goes on at the same time, are the
// subject of tests of contrib/gobreaker: the original hangs, or counts twice.
package dropin
