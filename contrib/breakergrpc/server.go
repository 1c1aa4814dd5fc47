package breakergrpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/local"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// UnaryServer is a [grpc.UnaryServerInterceptor]. An RPC that the breaker
// refuses ends with Unavailable, before the handler, and tells when to come
// back, in both ways that clients understand: a RetryInfo in the status, and
// the trailer grpc-retry-pushback-ms, which gRPC's retry policies obey. While
// an operator holds the breaker open nobody knows when: there is no
// RetryInfo, and the trailer says not to retry.
func (g *Guard) UnaryServer(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	b, err := g.breakerOf(ctx, Method{Name: info.FullMethod})
	if err != nil {
		return nil, err
	}
	if b == nil {
		return handler(ctx, req)
	}
	ticket, err := b.AcquireContext(ctx)
	if err != nil {
		trailer, refusal := serverRefusal(err)
		grpc.SetTrailer(ctx, trailer) // fails only outside a server
		return nil, refusal
	}
	defer ticket.Report(atomicbreaker.Failure) // a panic or Goexit; otherwise it is settled below
	began := time.Now()
	resp, err := handler(ctx, req)
	g.settleServer(ctx, began, &ticket, err)
	return resp, err
}

// StreamServer is a [grpc.StreamServerInterceptor]. It refuses as UnaryServer
// does. A stream is settled when its handler returns.
func (g *Guard) StreamServer(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := stream.Context()
	b, err := g.breakerOf(ctx, Method{Name: info.FullMethod})
	if err != nil {
		return err
	}
	if b == nil {
		return handler(srv, stream)
	}
	ticket, err := b.AcquireContext(ctx)
	if err != nil {
		trailer, refusal := serverRefusal(err)
		stream.SetTrailer(trailer)
		return refusal
	}
	defer ticket.Report(atomicbreaker.Failure)
	began := time.Now()
	err = handler(srv, &serving{stream, &ticket})
	g.settleServer(ctx, began, &ticket, err)
	return err
}

// settleServer is settle for an RPC that began at an instant.
func (g *Guard) settleServer(ctx context.Context, began time.Time, t *atomicbreaker.Ticket, err error) {
	if err != nil && ranOut(ctx, began) {
		ctx = local.Late
	}
	g.settle(ctx, t, err)
}

// serving is a stream whose first sign of an answer is a probe's verdict.
type serving struct {
	grpc.ServerStream
	ticket *atomicbreaker.Ticket
}

func (s *serving) SendHeader(md metadata.MD) error {
	s.ticket.Answered()
	return s.ServerStream.SendHeader(md)
}

func (s *serving) SendMsg(m any) error {
	s.ticket.Answered()
	return s.ServerStream.SendMsg(m)
}

// ranOut reports whether an RPC was cancelled because its time was up. A
// client whose deadline has passed cancels its stream, and on the server that
// cancellation and the server's own deadline come within moments of each other, in either
// order. So a cancellation in the last twentieth of the time counts as the deadline.
func ranOut(ctx context.Context, began time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && errors.Is(ctx.Err(), context.Canceled) && 20*time.Until(deadline) <= deadline.Sub(began)
}

const pushback = "grpc-retry-pushback-ms"

// probing is what to tell a client while probes are under way: the default
// time that a breaker takes to look again.
const probing = time.Second

// serverRefusal returns a refusal for a client, and the trailer that goes
// with it.
func serverRefusal(err error) (metadata.MD, error) {
	refusal := refusalOf(err)
	after := refusal.refusal.RetryAfter()
	switch refusal.refusal.Unwrap() {
	case atomicbreaker.ErrForced:
		return metadata.Pairs(pushback, "-1"), refusal
	case atomicbreaker.ErrProbeLimit:
		after = probing
	}
	ms := max(1, (after+time.Millisecond-1)/time.Millisecond)
	info := &errdetails.RetryInfo{RetryDelay: durationpb.New(ms * time.Millisecond)}
	if s, err := status.Convert(refusal).WithDetails(info); err == nil {
		refusal.status = s
	}
	return metadata.Pairs(pushback, strconv.FormatInt(int64(ms), 10)), refusal
}
