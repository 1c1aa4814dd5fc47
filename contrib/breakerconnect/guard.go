package breakerconnect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Guard is a [connect.Interceptor] that asks a breaker before every RPC and tells it how the
// RPC ended. One Guard may serve many clients and handlers; its fields must not change once
// it is in use.
//
// The end of an RPC is judged by its code, see [OutcomeOf]; a stream's by that of its end,
// not of its messages. An RPC whose context was cancelled by the caller, or in a handler by the
// client, is Ignored unless it succeeded. Another breaker's refusal is Ignored too. A panic is a
// Failure and passes through. The breaker's own Classify is not asked. A RetryInfo in a failed
// RPC's details is the least cooldown of an opening that it causes.
//
// A refusal is a *[connect.Error] with CodeUnavailable for which
// [atomicbreaker.IsRejected] is true. The RPC is not sent, or does not reach its handler.
type Guard struct {
	// Breaker guards every RPC for which BreakerFor names no other. It may be
	// nil if BreakerFor always does.
	Breaker *atomicbreaker.Breaker

	// BreakerFor chooses the breaker of an RPC, for instance with [PerProcedure].
	// It may run concurrently. Where it returns nil, Breaker is used. Default: nil.
	BreakerFor func(ctx context.Context, spec connect.Spec) *atomicbreaker.Breaker

	// Classify decides what an error says about health, in place of
	// OutcomeOf(connect.CodeOf(err)). It is asked for errors only, and not for
	// those that are Ignored as said above. It may run concurrently. Default: nil.
	Classify func(err error) atomicbreaker.Outcome

	// Exempt tells which procedures pass by the breaker, uncounted. Default: [HealthOrReflection].
	Exempt func(procedure string) bool
}

// PerProcedure is for [Guard].BreakerFor: each procedure has a breaker of its own out of g.
func PerProcedure(g *atomicbreaker.Group[string]) func(context.Context, connect.Spec) *atomicbreaker.Breaker {
	return func(_ context.Context, spec connect.Spec) *atomicbreaker.Breaker { return g.Get(spec.Procedure) }
}

// HealthOrReflection reports whether a procedure is of the standard health or reflection
// services: a health check that is refused would keep a balancer from the server that recovers.
func HealthOrReflection(procedure string) bool {
	return strings.HasPrefix(procedure, "/grpc.health.v1.Health/") || strings.HasPrefix(procedure, "/grpc.reflection.")
}

// OutcomeOf is what a code says about a server's health. Unavailable, DeadlineExceeded,
// Internal, Unknown and DataLoss are Failures. Canceled and ResourceExhausted are Ignored: the
// latter reports a quota or a message's size; a Classify may take it for
// overload where the servers mean that. So are those that judge the request and not the server:
// InvalidArgument, Unauthenticated, PermissionDenied and OutOfRange. Every other code is an answer, and a Success.
//
// An RPC whose own context has ended is judged by how long the server was given, see
// [atomicbreaker.Config].Patience, before its code is looked at.
func OutcomeOf(code connect.Code) atomicbreaker.Outcome {
	switch code {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss:
		return atomicbreaker.Failure
	case connect.CodeCanceled, connect.CodeResourceExhausted,
		connect.CodeInvalidArgument, connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeOutOfRange:
		return atomicbreaker.Ignored
	}
	return atomicbreaker.Success
}

// Validate reports every fault of the settings, or nil. A Guard that is wrongly set up
// fails every RPC with the fault.
func (g *Guard) Validate() error {
	if g.Breaker == nil && g.BreakerFor == nil {
		return errors.New("breakerconnect: Guard.Breaker is nil and so is BreakerFor: set one, see atomicbreaker.New")
	}
	return nil
}

// breakerOf returns the breaker to ask, nil for a procedure that is exempt.
func (g *Guard) breakerOf(ctx context.Context, spec connect.Spec) (*atomicbreaker.Breaker, error) {
	if err := g.Validate(); err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	exempt := g.Exempt
	if exempt == nil {
		exempt = HealthOrReflection
	}
	if exempt(spec.Procedure) {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		code := connect.CodeCanceled
		if errors.Is(err, context.DeadlineExceeded) {
			code = connect.CodeDeadlineExceeded
		}
		return nil, connect.NewError(code, err)
	}
	if g.BreakerFor != nil {
		if b := g.BreakerFor(ctx, spec); b != nil {
			return b, nil
		}
	}
	if g.Breaker == nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("breakerconnect: Guard.BreakerFor returned nil for %s, and Guard.Breaker is nil", spec.Procedure))
	}
	return g.Breaker, nil
}

// claim asks for leave to make an RPC. The ticket is nil for a procedure that is exempt.
func (g *Guard) claim(ctx context.Context, spec connect.Spec) (*atomicbreaker.Ticket, error) {
	b, err := g.breakerOf(ctx, spec)
	if b == nil || err != nil {
		return nil, err
	}
	ticket, err := b.AcquireContext(ctx)
	if err != nil {
		return nil, refusalOf(err, spec.IsClient)
	}
	return &ticket, nil
}

// settle tells how an RPC under ctx, the caller's, ended. Whatever panics here makes a Failure.
func (g *Guard) settle(ctx context.Context, t *atomicbreaker.Ticket, err error) {
	defer t.Report(atomicbreaker.Failure) // does nothing to a ticket that is settled
	if err != nil && ctx.Err() != nil {
		t.Done(ctx, err) // by how long the other side was given
		return
	}
	outcome := atomicbreaker.Success
	if err != nil {
		outcome = g.outcomeOf(err)
	}
	if outcome == atomicbreaker.Failure {
		t.ReportAfter(outcome, retryDelay(err))
		return
	}
	t.Report(outcome)
}

func (g *Guard) outcomeOf(err error) atomicbreaker.Outcome {
	code := connect.CodeOf(err)
	switch {
	case code == connect.CodeCanceled, atomicbreaker.IsRejected(err):
		return atomicbreaker.Ignored
	case g.Classify != nil:
		return g.Classify(err)
	}
	return OutcomeOf(code)
}

// retryDelay returns what the server asked to wait, or 0.
func retryDelay(err error) time.Duration {
	e, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return 0
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if info, ok := v.(*errdetails.RetryInfo); ok {
				return info.GetRetryDelay().AsDuration()
			}
		}
	}
	return 0
}
