package breakerhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"
)

// ErrRequest is what the error of a request Is that could not be sent, or not to its
// end, because of the request itself: it is malformed, or reading its body failed. The
// cause is in the error's chain, an [http.MaxBytesError] for instance.
var ErrRequest = errors.New("breakerhttp: the request cannot be sent")

// requestError is such an error.
type requestError struct {
	what  string
	cause error
}

func (e *requestError) Error() string        { return "breakerhttp: " + e.what + ": " + e.cause.Error() }
func (e *requestError) Unwrap() error        { return e.cause }
func (e *requestError) Is(target error) bool { return target == ErrRequest }

// upload is the body of one request: it knows whether reading it failed, and how
// long its reader was kept waiting. Where the sender begins anew, with a body
// from GetBody, both bodies tell the same upload.
type upload struct {
	want int64 // the length that was declared, -1 if none was

	mu      sync.Mutex
	failed  error
	reading int // Reads under way
	since   time.Time
	waited  time.Duration // in Reads that have returned
}

// watchUpload replaces the body of a request that is to be sent by one that is
// watched, and returns the request to send. It returns no upload for a body that cannot fail.
func watchUpload(req *http.Request) (*http.Request, *upload) {
	if req.Body == nil || req.Body == http.NoBody || inMemory(req.Body, req.ContentLength) {
		return req, nil
	}
	u := &upload{want: declared(req)}
	out := *req
	out.Body = &uploadBody{ReadCloser: req.Body, upload: u}
	if again := req.GetBody; again != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				u.fail(err)
				return nil, err
			}
			return &uploadBody{ReadCloser: body, upload: u}, nil
		}
	}
	return &out, u
}

// declared is the length that a request with a body says its body has, -1 for none.
func declared(req *http.Request) int64 {
	if req.ContentLength > 0 {
		return req.ContentLength
	}
	return -1
}

var (
	nopCloser         = reflect.TypeOf(io.NopCloser(nil))
	nopCloserWriterTo = reflect.TypeOf(io.NopCloser(new(bytes.Reader)))
)

// inMemory reports whether the body is one that http.NewRequest makes of bytes,
// and as long as declared. net/http sends such bodies in one packet with the
// header, if it sees their type.
func inMemory(body io.Reader, length int64) bool {
	if t := reflect.TypeOf(body); t == nopCloser || t == nopCloserWriterTo {
		body, _ = reflect.ValueOf(body).Field(0).Interface().(io.Reader)
	}
	switch r := body.(type) {
	case *bytes.Reader:
		return int64(r.Len()) == length
	case *bytes.Buffer:
		return int64(r.Len()) == length
	case *strings.Reader:
		return int64(r.Len()) == length
	}
	return false
}

func (u *upload) fail(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failed == nil {
		u.failed = err
	}
}

// fault returns why the body could not be read, nil if it could so far. A nil
// upload has no fault.
func (u *upload) fault() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failed
}

// hindered reports whether it was the body for which the dependency was kept
// waiting: its reader waits for it now, or has waited for most of the time since
// start.
func (u *upload) hindered(start time.Time) bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reading > 0 || 2*u.waited > time.Since(start)
}

func (u *upload) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reading++; u.reading == 1 {
		u.since = time.Now()
	}
}

func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reading--; u.reading == 0 {
		u.waited += time.Since(u.since)
	}
}

// uploadBody is a body that tells its upload.
type uploadBody struct {
	io.ReadCloser
	upload *upload
	got    int64

	mu     sync.Mutex
	closed bool
}

func (b *uploadBody) Read(p []byte) (int, error) {
	b.upload.begin()
	defer b.upload.end()
	n, err := b.ReadCloser.Read(p)
	b.got += int64(n)
	switch {
	case b.isClosed():
		// What fails because the sender has closed it is not the body's fault.
	case err != nil && err != io.EOF:
		b.upload.fail(err)
	case b.upload.want >= 0 && (b.got > b.upload.want || err == io.EOF && b.got < b.upload.want):
		b.upload.fail(errLength)
	}
	return n, err
}

var errLength = errors.New("the body is not as long as Content-Length says")

func (b *uploadBody) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

func (b *uploadBody) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.ReadCloser.Close()
}
