// Package coherence counts, for more processors than the machine at hand has,
// how often a cache line goes from one to another while all of them call one
// breaker. Nothing is timed: the figures are simulated.
//
// What runs is the real code, in a build in which every access to memory that
// another processor may reach is recorded with its address (see
// internal/overlay): atomic operations, and the plain fields that go with them.
// Each simulated processor is one goroutine that calls without end, and may be
// interrupted before every atomic operation by any other, all with the same
// chance, from a seed. The record goes through private caches kept coherent
// by MESI, without a limit to their size: a processor reads a line that it
// holds, and writes one that it alone holds, without asking anybody; whatever else
// it does to a line that others hold is one transfer. A failed
// compare-and-swap takes the line as a successful one does.
//
// Four things are compared on each path.
//
//   - atomic: the breaker, with Stripes as a machine of so many processors has by
//     default. Its goroutines tell themselves apart by the page of their stack, as in
//     the real code; the pages are drawn from the seed. Stripes are added by the
//     real worker on real failed compare-and-swaps, before anything is counted.
//   - packed: the same accesses, with the words of the stripes side by side
//     (word 0 of all stripes, then word 1 of all) instead of each stripe in lines
//     of its own: a striped counter whose padding was forgotten.
//   - mutex: the breaker of bench/locked. Lock and Unlock write the mutex's word
//     once each, and who waits touches nothing meanwhile: the least a mutex can cost.
//   - counter: one shared atomic counter and no breaker, one addition for each call.
//
// Plain fields of the breaker's configuration are recorded too; they are written
// before the breaker is shared and cost no transfer afterwards.
package coherence
