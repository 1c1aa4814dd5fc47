package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// ownServers starts two servers on loopback, to try the program with: one
// answers, the other is broken.
func ownServers() (addrs []string, stop func(), err error) {
	broken := grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		return nil, status.Error(codes.Internal, "broken")
	})
	var servers []*grpc.Server
	stop = func() {
		for _, s := range servers {
			s.Stop()
		}
	}
	for _, options := range [][]grpc.ServerOption{nil, {broken}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stop()
			return nil, nil, err
		}
		s := grpc.NewServer(options...)
		grpc_health_v1.RegisterHealthServer(s, health.NewServer())
		go s.Serve(l)
		servers, addrs = append(servers, s), append(addrs, l.Addr().String())
	}
	return addrs, stop, nil
}
