package breakerhttp

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// refuse answers a call that the breaker did not admit.
func (t *Transport) refuse(req *http.Request, refusal error) (*http.Response, error) {
	closeBody(req)
	if !t.Respond503 {
		return nil, refusal
	}
	const text = "service unavailable\n" // it may go on to a client, whom names of hosts do not concern
	resp := &http.Response{
		Status:        "503 Service Unavailable",
		StatusCode:    http.StatusServiceUnavailable,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:          &refusalBody{Reader: strings.NewReader(text), refusal: refusal},
		ContentLength: int64(len(text)),
		Request:       req,
	}
	if after := retryAfterSeconds(refusal); after > 0 {
		resp.Header.Set("Retry-After", strconv.FormatInt(after, 10))
	}
	return resp, nil
}

// Refusal returns the refusal that a response stands for, or nil if the
// response came from a server. See [Transport].Respond503. It recognises the
// response by its body, so it does not see through a wrapper of the body.
func Refusal(resp *http.Response) error {
	if body, ok := resp.Body.(*refusalBody); ok {
		return body.refusal
	}
	return nil
}

type refusalBody struct {
	io.Reader
	refusal error
}

func (*refusalBody) Close() error { return nil }

// retryAfterSeconds is what to tell a client that was refused: the time left,
// rounded up, at least a second. It is 0, for nothing, if an operator holds
// the breaker open: nobody knows for how long.
func retryAfterSeconds(refusal error) int64 {
	var r *atomicbreaker.RejectedError
	if !errors.As(refusal, &r) || errors.Is(refusal, atomicbreaker.ErrForced) {
		return 0
	}
	return max(1, int64((r.RetryAfter()+time.Second-1)/time.Second))
}

// maxRetryAfter is the longest cooldown that a breaker can be set to; what a
// server asks beyond it would be cut there anyway.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a server's Retry-After, seconds or a date. It returns 0 if
// there is none, or none that can be read, or one that has passed.
func retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // digits only: the number is too large
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	// The server's own Date, where it gave one, keeps the difference of the
	// two machines' clocks out of it.
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
