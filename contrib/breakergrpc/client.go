package breakergrpc

import (
	"context"
	"slices"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// UnaryClient is a [grpc.UnaryClientInterceptor].
func (g *Guard) UnaryClient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	b, err := g.breakerOf(ctx, methodOf(cc, method))
	if err != nil {
		return err
	}
	if b == nil {
		return invoker(ctx, method, req, reply, cc, opts...)
	}
	ticket, err := b.AcquireContext(ctx)
	if err != nil {
		return refusalOf(err)
	}
	defer ticket.Report(atomicbreaker.Failure) // a panic or Goexit; otherwise it is settled below
	err = invoker(ctx, method, req, reply, cc, opts...)
	g.settle(ctx, &ticket, err)
	return err
}

// StreamClient is a [grpc.StreamClientInterceptor]. A stream is settled when
// it ends: by its status, by the end of its context, or because it could not
// be made. One that is neither read to its end nor cancelled never ends, as
// gRPC says of streams; as a probe it is given up in time.
func (g *Guard) StreamClient(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	b, err := g.breakerOf(ctx, methodOf(cc, method))
	if err != nil {
		return nil, err
	}
	if b == nil {
		return streamer(ctx, desc, cc, method, opts...)
	}
	ticket := new(atomicbreaker.Ticket)
	if *ticket, err = b.AcquireContext(ctx); err != nil {
		return nil, refusalOf(err)
	}
	made := false
	defer func() {
		if !made {
			ticket.Report(atomicbreaker.Failure) // a panic or Goexit, unless it is settled
		}
	}()
	opts = append(slices.Clip(opts), onFinish(func(err error) { g.settle(ctx, ticket, err) }))
	stream, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		g.settle(ctx, ticket, err) // in case the streamer is not gRPC's
		return nil, err
	}
	made = true
	return &answering{stream, ticket}, nil
}

// answering is a stream whose first sign of an answer is a probe's verdict.
type answering struct {
	grpc.ClientStream
	ticket *atomicbreaker.Ticket
}

func (s *answering) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err == nil && md != nil { // nil if the stream has ended without one
		s.ticket.Answered()
	}
	return md, err
}

func (s *answering) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.ticket.Answered()
	}
	return err
}

// onFinish is the one place that uses gRPC's way to learn of a stream's end.
// It is marked experimental there; what it does not need is a goroutine per stream
// that waits for the end of the context, which leaks where there is none.
func onFinish(f func(error)) grpc.CallOption { return grpc.OnFinish(f) }

func methodOf(cc *grpc.ClientConn, method string) Method {
	if cc == nil {
		return Method{Name: method}
	}
	return Method{Target: cc.Target(), Name: method}
}
