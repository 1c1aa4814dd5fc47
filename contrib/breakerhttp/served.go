package breakerhttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// served is a request that a Handler passed on, and the ResponseWriter that
// goes with it.
type served struct {
	http.ResponseWriter
	handler  *Handler
	ctx      context.Context
	ticket   atomicbreaker.Ticket
	upload   *upload
	start    time.Time // of an upload
	status   int       // of the answer, 0 as long as there is none
	outcome  atomicbreaker.Outcome
	late     bool // the answer began when the request's context had ended
	returned bool
}

func (s *served) WriteHeader(status int) {
	switch {
	case status == http.StatusSwitchingProtocols:
		s.upgraded()
	case status >= 200: // 1xx before that is no answer yet
		s.answer(status)
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *served) Write(p []byte) (int, error) {
	s.answered()
	return s.ResponseWriter.Write(p)
}

// answered notes what the server sends if nothing else was said.
func (s *served) answered() { s.answer(http.StatusOK) }

// answer notes the first status, which is the verdict for a probe.
func (s *served) answer(status int) {
	if s.status != 0 {
		return
	}
	s.status, s.late, s.outcome = status, s.ctx.Err() != nil, atomicbreaker.Failure // if Classify panics
	s.outcome = s.handler.outcomeOf(status, s.Header())
	if s.outcome == atomicbreaker.Success && !s.late {
		s.ticket.Answered()
	}
}

// settle judges a request for which the handler has returned.
func (s *served) settle() {
	ended := s.ctx.Err()
	timeout := errors.Is(ended, context.DeadlineExceeded)
	switch {
	case timeout && (s.status == 0 || s.late || s.replaced()):
		s.failed()
		return
	case ended != nil && (s.status == 0 || s.late):
		if s.upload.fault() != nil || s.upload.hindered(s.start) {
			s.ticket.Report(atomicbreaker.Local)
		}
		s.ticket.Done(s.ctx, ended)
		return
	}
	s.answered() // nothing written: the server sends 200
	switch {
	case s.outcome == atomicbreaker.Failure:
		s.failed()
	case ended != nil && s.outcome == atomicbreaker.Success:
		s.ticket.Report(atomicbreaker.Local)
	default:
		s.ticket.Report(s.outcome)
	}
}

// failed settles a request that has failed, which may be for its body.
func (s *served) failed() {
	if s.upload.fault() != nil || s.ctx.Err() != nil && s.upload.hindered(s.start) {
		s.ticket.Report(atomicbreaker.Local)
		return
	}
	s.ticket.ReportAfter(atomicbreaker.Failure, retryAfter(s.Header()))
}

// aborted judges a request that Next gave up, if that may be the client's doing.
func (s *served) aborted() {
	if s.upload.fault() != nil {
		s.ticket.Report(atomicbreaker.Local)
	} else if s.ctx.Err() != nil {
		s.ticket.Done(s.ctx, http.ErrAbortHandler)
	}
}

// replaced reports whether a wrapper has answered in place of the handler, as
// http.TimeoutHandler does, whose writer says so.
func (s *served) replaced() bool {
	_, err := s.ResponseWriter.Write(nil)
	return errors.Is(err, http.ErrHandlerTimeout) || errors.Is(err, context.DeadlineExceeded)
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
