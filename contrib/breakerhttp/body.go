package breakerhttp

import (
	"context"
	"io"
	"net/http"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// judgedBody settles the ticket of its call when the body ends. Read and Close
// may race, as with any response body: the ticket takes the first verdict.
type judgedBody struct {
	io.ReadCloser
	ctx    context.Context // the caller's, to tell a cancelled read from a broken one
	ticket atomicbreaker.Ticket
}

func (b *judgedBody) Read(p []byte) (int, error) {
	returned := false
	defer func() {
		if !returned { // a panic passes through
			b.ticket.Report(atomicbreaker.Failure)
		}
	}()
	n, err := b.ReadCloser.Read(p)
	returned = true
	switch err {
	case nil:
	case io.EOF:
		b.ticket.Report(atomicbreaker.Success)
	default:
		b.ticket.Done(b.ctx, err)
	}
	return n, err
}

// Close settles first: closing makes a Read that is under way fail. It is a
// Success even after a cancellation, because decoders stop short of the end of
// the body and callers cancel before they close: ignoring these calls would
// leave a half-open breaker without evidence.
func (b *judgedBody) Close() error {
	b.ticket.Report(atomicbreaker.Success)
	return b.ReadCloser.Close()
}

// worthJudging reports whether the body can say more than the header did.
func worthJudging(req *http.Request, resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody || req.Method == http.MethodHead {
		return false
	}
	// A body that can be written to is a connection that was handed over.
	// Wrapping would hide the Writer, and a session is not a call.
	_, upgraded := resp.Body.(io.Writer)
	return !upgraded && resp.StatusCode != http.StatusSwitchingProtocols
}
