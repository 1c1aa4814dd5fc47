// Grpclb asks several gRPC servers for their health, over one connection that
// is balanced by breakers:
//
//	go run . -n 100 127.0.0.1:9001 127.0.0.1:9002
//
// Without servers it starts two of its own, one of which is broken. A server that
// fails is left out of the round until it recovers.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// register makes the policy known to gRPC; once, when the program starts.
var register = sync.OnceValues(func() (*breakergrpc.Policy, error) {
	return breakergrpc.RegisterPolicy("breaker_round_robin", breakergrpc.PolicyConfig{
		Breakers: atomicbreaker.GroupConfig[breakergrpc.Backend]{Config: atomicbreaker.Config{ConsecutiveFailures: 3}},
	})
})

// ask makes n calls and writes how many were answered, and what each
// server's breaker says.
func ask(w io.Writer, policy *breakergrpc.Policy, addrs []string, n int) error {
	servers := manual.NewBuilderWithScheme("list")
	var state resolver.State
	for _, addr := range addrs {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	servers.InitialState(state)
	conn, err := grpc.NewClient("list:///servers", policy.DialOption(), grpc.WithResolvers(servers),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	answered := 0
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			answered++
		}
	}
	fmt.Fprintf(w, "%d of %d calls answered\n", answered, n)
	for backend, b := range policy.Breakers().All() {
		s := b.Snapshot()
		fmt.Fprintf(w, "%s: %v, %d succeeded, %d failed\n", backend.Address, s.State, s.Succeeded, s.Failed)
	}
	return nil
}

func run(addrs []string, n int) error {
	policy, err := register()
	if err != nil {
		return err
	}
	if len(addrs) == 0 {
		var stop func()
		if addrs, stop, err = ownServers(); err != nil {
			return err
		}
		defer stop()
	}
	return ask(os.Stdout, policy, addrs, n)
}

func main() {
	n := flag.Int("n", 100, "number of calls")
	flag.Parse()
	if err := run(flag.Args(), *n); err != nil {
		fmt.Fprintln(os.Stderr, "grpclb:", err)
		os.Exit(1)
	}
}
