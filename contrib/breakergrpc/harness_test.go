package breakergrpc_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// TestMain fails if a goroutine is left: a stream's end must need none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a server on loopback that can be killed and started again at the
// same address.
type backend struct {
	pb.UnimplementedTestServiceServer
	addr   string
	calls  atomic.Int64
	handle atomic.Pointer[func(context.Context) error] // nil: OK
	mu     sync.Mutex
	server *grpc.Server
	opts   []grpc.ServerOption
}

func startBackend(t *testing.T, opts ...grpc.ServerOption) *backend {
	t.Helper()
	b := &backend{addr: "127.0.0.1:0", opts: opts}
	b.start(t)
	t.Cleanup(b.kill)
	return b
}

func (b *backend) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	server := grpc.NewServer(b.opts...)
	pb.RegisterTestServiceServer(server, b)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	b.mu.Lock()
	b.server = server
	b.mu.Unlock()
	go server.Serve(l)
}

// kill closes the listener and every connection.
func (b *backend) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server != nil {
		b.server.Stop()
	}
}

// answer sets what every RPC ends with.
func (b *backend) answer(f func(context.Context) error) { b.handle.Store(&f) }

func (b *backend) fail(code codes.Code) {
	b.answer(func(context.Context) error {
		if code == codes.OK {
			return nil
		}
		return status.Error(code, "as told")
	})
}

func (b *backend) run(ctx context.Context) error {
	b.calls.Add(1)
	if f := b.handle.Load(); f != nil {
		return (*f)(ctx)
	}
	return nil
}

func (b *backend) EmptyCall(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	return &pb.Empty{}, b.run(ctx)
}

// StreamingOutputCall sends one message, then ends as told.
func (b *backend) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, s grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	if err := s.Send(&pb.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	return b.run(s.Context())
}

func (b *backend) StreamingInputCall(s grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	for {
		if _, err := s.Recv(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if err := b.run(s.Context()); err != nil {
		return err
	}
	return s.SendAndClose(&pb.StreamingInputCallResponse{})
}

// hang waits for the end of the RPC's context.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// guarded is a client whose RPCs a Guard watches.
type guarded struct {
	guard *breakergrpc.Guard
	clock *clock.Manual
	conn  *grpc.ClientConn
	pb.TestServiceClient
}

func newGuarded(t *testing.T, target string, c atomicbreaker.Config, opts ...grpc.DialOption) *guarded {
	t.Helper()
	g := &guarded{guard: new(breakergrpc.Guard)}
	g.reset(c)
	g.conn = dial(t, target, append(opts, grpc.WithUnaryInterceptor(g.guard.UnaryClient), grpc.WithStreamInterceptor(g.guard.StreamClient))...)
	g.TestServiceClient = pb.NewTestServiceClient(g.conn)
	return g
}

// reset puts a new breaker in the guard.
func (g *guarded) reset(c atomicbreaker.Config) {
	g.clock = new(clock.Manual)
	c.Clock = g.clock
	c.Cooldown.Jitter = atomicbreaker.Off
	g.guard.Breaker = atomicbreaker.MustNew(c)
}

func dial(t *testing.T, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// call makes a unary RPC that cannot hang.
func call(t *testing.T, c pb.TestServiceClient, opts ...grpc.CallOption) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := c.EmptyCall(ctx, &pb.Empty{}, opts...)
	return err
}

// books are the outcomes that a breaker has counted.
type books struct{ succeeded, failed, ignored, cancelled, late, refused uint64 }

func booksOf(b *atomicbreaker.Breaker) books {
	s := b.Snapshot()
	return books{s.Succeeded, s.Failed, s.Ignored, s.Cancelled, s.Late, s.Refused()}
}

// settled waits until a breaker has counted what is wanted: a stream ends on
// gRPC's own goroutine.
func settled(t *testing.T, b *atomicbreaker.Breaker, want books) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); booksOf(b) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("breaker counted %+v, want %+v", booksOf(b), want)
		}
	}
}

func wantBooks(t *testing.T, b *atomicbreaker.Breaker, want books) {
	t.Helper()
	if got := booksOf(b); got != want {
		t.Errorf("breaker counted %+v, want %+v", got, want)
	}
}

const retryThrice = `{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.001s","maxBackoff":"0.01s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`
