package breakergrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Guard is a set of interceptors that ask a breaker before every RPC and tell
// it how the RPC ended. Its four methods are interceptors as gRPC wants them.
// One Guard may serve many connections; its fields must not change once it is
// in use.
//
// The end of an RPC is judged by its status code, see [OutcomeOf]; a stream's
// by that of its end, not of its messages. An RPC whose context was cancelled
// by the caller, or on a server by the client, is Ignored unless it succeeded. Another breaker's refusal is
// Ignored too. A panic is a Failure and passes through. The breaker's own Classify is not
// asked. A RetryInfo in a failed RPC's status is the least cooldown of an
// opening that it causes.
//
// A refusal is a status error with code Unavailable for which
// [atomicbreaker.IsRejected] is true. The RPC is not sent, and gRPC's retry policy, which
// works below the interceptors, does not see it.
//
// RPCs of the standard health service pass by the breaker, uncounted: a pool
// that is told "the breaker is open" in place of the server's health would
// keep it from recovering. See Exempt.
type Guard struct {
	// Breaker guards every RPC for which BreakerFor names no other. It may be
	// nil if BreakerFor always does.
	Breaker *atomicbreaker.Breaker

	// BreakerFor chooses the breaker of an RPC, for instance with [PerMethod].
	// It may run concurrently. Where it returns nil, Breaker is used. Default: nil.
	BreakerFor func(ctx context.Context, m Method) *atomicbreaker.Breaker

	// Classify decides what an error says about health, in place of
	// OutcomeOf(status.Code(err)). It is asked for errors only, and not for
	// those that are Ignored as said above. It may run concurrently and, at
	// the end of a stream, on gRPC's own goroutine. Default: nil.
	Classify func(err error) atomicbreaker.Outcome

	// Exempt tells which methods pass by the breaker. Default: [HealthMethod].
	Exempt func(fullMethod string) bool
}

// Method names what is called, for choosing a breaker.
type Method struct {
	Target string // of the connection, as given to grpc.NewClient; empty on a server
	Name   string // /package.Service/Method
}

// String returns target and name.
func (m Method) String() string { return m.Target + m.Name }

// PerMethod is for [Guard].BreakerFor: each method of each target has a
// breaker of its own out of g.
func PerMethod(g *atomicbreaker.Group[Method]) func(context.Context, Method) *atomicbreaker.Breaker {
	return func(_ context.Context, m Method) *atomicbreaker.Breaker { return g.Get(m) }
}

// HealthMethod reports whether a method is of the standard health service.
func HealthMethod(fullMethod string) bool {
	return strings.HasPrefix(fullMethod, "/grpc.health.v1.Health/")
}

// OutcomeOf is what a status code says about a server's health. Unavailable,
// DeadlineExceeded, Internal, Unknown and DataLoss are Failures. Canceled and
// ResourceExhausted are Ignored: the latter reports a quota or a message's size; a
// Classify may take it for overload where the servers mean that. So are those that judge the
// request and not the server: InvalidArgument, Unauthenticated, PermissionDenied and
// OutOfRange. Every other code is an answer, and a Success.
//
// An RPC whose own context has ended is judged by how long the server was given, see
// [atomicbreaker.Config].Patience, before its code is looked at.
func OutcomeOf(code codes.Code) atomicbreaker.Outcome {
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.DataLoss:
		return atomicbreaker.Failure
	case codes.Canceled, codes.ResourceExhausted,
		codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.OutOfRange:
		return atomicbreaker.Ignored
	}
	return atomicbreaker.Success
}

// Validate reports every fault of the settings, or nil. An interceptor of a
// Guard that is wrongly set up fails every RPC with the fault.
func (g *Guard) Validate() error {
	if g.Breaker == nil && g.BreakerFor == nil {
		return errors.New("breakergrpc: Guard.Breaker is nil and so is BreakerFor: set one, see atomicbreaker.New")
	}
	return nil
}

// breakerOf returns the breaker to ask, nil for a method that is exempt.
func (g *Guard) breakerOf(ctx context.Context, m Method) (*atomicbreaker.Breaker, error) {
	if err := g.Validate(); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	exempt := g.Exempt
	if exempt == nil {
		exempt = HealthMethod
	}
	if exempt(m.Name) {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if g.BreakerFor != nil {
		if b := g.BreakerFor(ctx, m); b != nil {
			return b, nil
		}
	}
	if g.Breaker == nil {
		return nil, status.Error(codes.Internal, fmt.Sprintf("breakergrpc: Guard.BreakerFor returned nil for %s, and Guard.Breaker is nil", m.Name))
	}
	return g.Breaker, nil
}

// settle tells how an RPC under ctx, the caller's, ended.
func (g *Guard) settle(ctx context.Context, t *atomicbreaker.Ticket, err error) {
	defer t.Report(atomicbreaker.Failure) // if a method of the context or the error panics
	if err != nil && ctx.Err() != nil {
		t.Done(ctx, err) // by how long the other side was given
		return
	}
	settle(t, err, g.Classify)
}

// settle settles by the error of an RPC, as a Failure if classify or a method
// of the error panics.
func settle(t *atomicbreaker.Ticket, err error, classify func(error) atomicbreaker.Outcome) {
	defer t.Report(atomicbreaker.Failure) // does nothing to a ticket that is settled
	outcome := atomicbreaker.Success
	if err != nil {
		outcome = outcomeOfError(err, classify)
	}
	if outcome == atomicbreaker.Failure {
		t.ReportAfter(outcome, retryDelay(err))
		return
	}
	t.Report(outcome)
}

func outcomeOfError(err error, classify func(error) atomicbreaker.Outcome) atomicbreaker.Outcome {
	switch code := status.Code(err); {
	case code == codes.Canceled, atomicbreaker.IsRejected(err):
		return atomicbreaker.Ignored
	case classify != nil:
		return classify(err)
	default:
		return OutcomeOf(code)
	}
}

// retryDelay returns what the server asked to wait, or 0.
func retryDelay(err error) time.Duration {
	s, _ := status.FromError(err)
	if len(s.Proto().GetDetails()) == 0 {
		return 0
	}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}
