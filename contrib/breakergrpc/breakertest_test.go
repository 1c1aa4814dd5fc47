package breakergrpc_test

import (
	"context"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"github.com/atomicbreaker/breaker/contrib/breakertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// TestWithBreakertest is how a user's own test looks: a server that fails by a
// plan, a guard whose breaker is one failure from opening, and a stream, which
// ends on gRPC's own goroutine.
func TestWithBreakertest(t *testing.T) {
	server := startBackend(t)
	b := breakertest.New(t, breakertest.NearlyOpen, atomicbreaker.Config{Name: "billing"})
	plan := b.Plan(breakertest.Pass(1), breakertest.Fail(1, status.Error(codes.Unavailable, "as planned")))
	server.answer(plan.Call)
	guard := &breakergrpc.Guard{Breaker: b.Breaker}
	client := pb.NewTestServiceClient(dial(t, server.addr, grpc.WithUnaryInterceptor(guard.UnaryClient), grpc.WithStreamInterceptor(guard.StreamClient)))

	stream, err := client.StreamingOutputCall(context.Background(), &pb.StreamingOutputCallRequest{})
	for err == nil {
		_, err = stream.Recv()
	}
	b.WaitOutcomes(breakertest.Outcomes{Succeeded: 1})
	if err := call(t, client); status.Code(err) != codes.Unavailable {
		t.Fatal(err)
	}
	b.WantTransitions(atomicbreaker.StateOpen)
	b.WantRefused(call(t, client))
	plan.WantUsed(t)
	b.AdvanceToReady()
	if err := call(t, client); err != nil {
		t.Fatal(err)
	}
	b.WantOutcomes(breakertest.Outcomes{Succeeded: 2, Failed: 1, Refused: 1})
	b.WantNoProbe()
}
