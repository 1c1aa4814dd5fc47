package breakerhttp

import (
	"io"
	"net/http"
	"sync"
)

// heldBody is a request body that outlives a try that did not read it: a
// RoundTripper closes the body even if it could not dial.
type heldBody struct {
	io.ReadCloser
	mu     sync.Mutex
	read   bool // something of it is gone
	closed bool // closed by a try, not yet for good
	final  bool // Close is for good
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	closed := b.closed
	b.read = true
	b.mu.Unlock()
	if closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.ReadCloser.Read(p)
}

func (b *heldBody) Close() error {
	b.mu.Lock()
	b.closed = true
	final := b.final || b.read
	b.mu.Unlock()
	if final {
		return b.ReadCloser.Close()
	}
	return nil
}

// rewind makes the body ready for another try, and reports whether it could.
func (b *heldBody) rewind(again func() (io.ReadCloser, error)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.read {
		b.closed = false
		return true
	}
	if again == nil {
		return false
	}
	body, err := again()
	if err != nil {
		return false
	}
	b.ReadCloser.Close()
	b.ReadCloser, b.read, b.closed = body, false, false
	return true
}

// release ends the tries: the last one's Close is for good. After an error
// the body is closed in any case.
func (b *heldBody) release(failed bool) {
	b.mu.Lock()
	b.final = true
	overdue := (b.closed || failed) && !b.read
	b.mu.Unlock()
	if overdue {
		b.ReadCloser.Close()
	}
}
