package breakerconnect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/atomicbreaker/breaker/atomicbreaker"
)

var _ connect.Interceptor = (*Guard)(nil)

// WrapUnary guards unary RPCs of clients and handlers.
func (g *Guard) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		ticket, err := g.claim(ctx, req.Spec())
		if err != nil {
			return nil, err
		}
		if ticket == nil {
			return next(ctx, req)
		}
		defer ticket.Report(atomicbreaker.Failure) // a panic or Goexit; otherwise it is settled below
		began := time.Now()
		resp, err := next(ctx, req)
		g.end(ctx, ticket, err, req.Spec(), began)
		return resp, err
	}
}

// WrapStreamingHandler guards streams of handlers. A stream is settled when its handler returns.
func (g *Guard) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ticket, err := g.claim(ctx, conn.Spec())
		if err != nil {
			return err
		}
		if ticket == nil {
			return next(ctx, conn)
		}
		defer ticket.Report(atomicbreaker.Failure)
		began := time.Now()
		err = next(ctx, conn)
		g.end(ctx, ticket, err, conn.Spec(), began)
		return err
	}
}

// end settles, in a handler with an eye on the time. A client whose deadline has passed cancels
// its RPC, and that cancellation and the handler's own deadline come within moments of each
// other, in either order. So a cancellation in the last twentieth of the time counts as the deadline.
func (g *Guard) end(ctx context.Context, t *atomicbreaker.Ticket, err error, spec connect.Spec, began time.Time) {
	if err != nil && !spec.IsClient && errors.Is(ctx.Err(), context.Canceled) {
		if deadline, ok := ctx.Deadline(); ok && 20*time.Until(deadline) <= deadline.Sub(began) {
			t.Report(atomicbreaker.Failure)
			return
		}
	}
	g.settle(ctx, t, err)
}

// WrapStreamingClient guards streams of clients. A stream is settled when it ends: by what
// Receive or Send says, by the end of its context, or by CloseResponse, which is a Success if
// the server had answered and Ignored if not. A stream that is refused gives the refusal to Send and
// Receive.
func (g *Guard) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		ticket, err := g.claim(ctx, spec)
		if err != nil {
			return &refusedStream{spec: spec, err: err, header: make(http.Header)}
		}
		if ticket == nil {
			return next(ctx, spec)
		}
		made := false
		defer func() {
			if !made {
				ticket.Report(atomicbreaker.Failure) // a panic or Goexit
			}
		}()
		s := &stream{StreamingClientConn: next(ctx, spec), guard: g, ctx: ctx, ticket: ticket}
		s.unwatch = context.AfterFunc(ctx, func() { g.settle(ctx, ticket, contextError(ctx.Err())) })
		made = true
		return s
	}
}

func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	}
	return connect.NewError(connect.CodeCanceled, err)
}

// stream is a client's stream that the breaker has admitted.
type stream struct {
	connect.StreamingClientConn
	guard    *Guard
	ctx      context.Context
	ticket   *atomicbreaker.Ticket
	unwatch  func() bool
	answered bool // a message has come; of the goroutine that receives
}

func (s *stream) settle(err error) {
	s.unwatch()
	s.guard.settle(s.ctx, s.ticket, err)
}

// Send passes on. An io.EOF says that the stream has ended, and Receive will say how.
func (s *stream) Send(msg any) error {
	err := s.StreamingClientConn.Send(msg)
	if err != nil && !errors.Is(err, io.EOF) {
		s.settle(err)
	}
	return err
}

func (s *stream) Receive(msg any) error {
	err := s.StreamingClientConn.Receive(msg)
	switch {
	case err == nil:
		s.ticket.Answered()
		s.answered = true
	case errors.Is(err, io.EOF) && connect.CodeOf(err) == connect.CodeUnknown:
		s.settle(nil)
	default:
		s.settle(err)
	}
	return err
}

func (s *stream) CloseResponse() error {
	err := s.StreamingClientConn.CloseResponse()
	s.unwatch()
	if s.answered {
		s.ticket.Report(atomicbreaker.Success)
	} else {
		s.ticket.Report(atomicbreaker.Ignored)
	}
	return err
}

// refusedStream is a stream that was not made.
type refusedStream struct {
	spec   connect.Spec
	err    error
	header http.Header
}

func (s *refusedStream) Spec() connect.Spec           { return s.spec }
func (s *refusedStream) Peer() connect.Peer           { return connect.Peer{} }
func (s *refusedStream) Send(any) error               { return s.err }
func (s *refusedStream) RequestHeader() http.Header   { return s.header }
func (s *refusedStream) CloseRequest() error          { return nil }
func (s *refusedStream) Receive(any) error            { return s.err }
func (s *refusedStream) ResponseHeader() http.Header  { return make(http.Header) }
func (s *refusedStream) ResponseTrailer() http.Header { return make(http.Header) }
func (s *refusedStream) CloseResponse() error         { return nil }
