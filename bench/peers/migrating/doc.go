// Package migrating has the code of docs/migrating.md as runnable examples: for
// each of the other breakers a call as it was before and as it is after, which
// print the same.
package migrating
