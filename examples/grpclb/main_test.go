package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func start(t *testing.T, opts ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func TestAsk(t *testing.T) {
	policy, err := register()
	if err != nil {
		t.Fatal(err)
	}
	good := start(t)
	bad := start(t, grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		return nil, status.Error(codes.Internal, "broken")
	}))
	var out strings.Builder
	if err := ask(&out, policy, []string{good, bad}, 100); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), bad+": open, 0 succeeded, 3 failed") || !strings.Contains(out.String(), "97 of 100 calls answered") {
		t.Errorf("printed\n%s", out.String())
	}
}
