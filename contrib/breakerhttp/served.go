package breakerhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// served is a request that a Handler passed on, and the ResponseWriter that
// goes with it.
type served struct {
	http.ResponseWriter
	ticket   atomicbreaker.Ticket
	status   int // of the answer, 0 as long as there is none
	returned bool
}

func (s *served) WriteHeader(status int) {
	switch {
	case status == http.StatusSwitchingProtocols:
		s.upgraded()
	case status >= 200 && s.status == 0: // 1xx before that is no answer yet
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *served) Write(p []byte) (int, error) {
	s.answered()
	return s.ResponseWriter.Write(p)
}

// answered notes what the server sends if nothing else was said.
func (s *served) answered() {
	if s.status == 0 {
		s.status = http.StatusOK
	}
}

func (s *served) upgraded() { s.ticket.Report(atomicbreaker.Success) }

// Unwrap is for http.ResponseController: deadlines and full duplex.
func (s *served) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// writer returns s with the optional methods that the server's own writer
// has: much code asks for them by type assertion. A method that would be there without working
// would be worse than none. Every ResponseWriter of net/http is one of these.
func (s *served) writer() http.ResponseWriter {
	flusher, flushes := s.ResponseWriter.(http.Flusher)
	hijacker, hijacks := s.ResponseWriter.(http.Hijacker)
	pusher, pushes := s.ResponseWriter.(http.Pusher)
	from, reads := s.ResponseWriter.(io.ReaderFrom)
	f, h, p, r := flushing{s, flusher}, hijacking{s, hijacker}, pusher, readingFrom{s, from}
	switch {
	case flushes && hijacks && reads: // HTTP/1
		return struct {
			*served
			flushing
			hijacking
			readingFrom
		}{s, f, h, r}
	case flushes && hijacks:
		return struct {
			*served
			flushing
			hijacking
		}{s, f, h}
	case flushes && pushes: // HTTP/2
		return struct {
			*served
			flushing
			http.Pusher
		}{s, f, p}
	case flushes:
		return struct {
			*served
			flushing
		}{s, f}
	}
	return s
}

type flushing struct {
	s *served
	f http.Flusher
}

func (f flushing) Flush() {
	f.s.answered()
	f.f.Flush()
}

// FlushError is what http.ResponseController calls in preference.
func (f flushing) FlushError() error {
	f.s.answered()
	return http.NewResponseController(f.s.ResponseWriter).Flush()
}

type hijacking struct {
	s *served
	h http.Hijacker
}

func (h hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := h.h.Hijack()
	if err == nil {
		h.s.upgraded()
	}
	return conn, rw, err
}

type readingFrom struct {
	s *served
	r io.ReaderFrom
}

func (r readingFrom) ReadFrom(src io.Reader) (int64, error) {
	r.s.answered()
	return r.r.ReadFrom(src)
}
