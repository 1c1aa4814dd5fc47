// Reverseproxy spreads requests over backends with a breaker each:
//
//	go run . -listen 127.0.0.1:8080 http://127.0.0.1:9001 http://127.0.0.1:9002
//
// Without backends it starts two of its own, one of which fails now and then.
// A backend that cannot be reached costs no user an error, and one that hangs,
// resets or answers 502 to 504 costs none to a request that may be repeated. It is left
// alone until it recovers, and with none left the answer is 503 and when to come back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// serve proxies what comes to l until ctx is done.
func serve(ctx context.Context, l net.Listener, backends []string) error {
	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{
		Backends:  backends,
		Choice:    breakerhttp.LeastRequest,
		Transport: breakerhttp.Transport{JudgeBody: true},
		Breaker: atomicbreaker.Config{OnTransition: func(t atomicbreaker.Transition) {
			slog.Info("breaker", "backend", t.Name, "from", t.From, "to", t.To, "reason", t.Reason)
		}},
	})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: pool.Proxy(), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(grace)
	})
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: reverseproxy [-listen address] [backend-url ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	backends := flag.Args()
	l, err := net.Listen("tcp", *listen)
	if err == nil && len(backends) == 0 {
		backends, err = ownBackends(ctx)
	}
	if err == nil {
		fmt.Printf("http://%v/ is for %v; Ctrl-C ends it\n", l.Addr(), backends)
		err = serve(ctx, l, backends)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reverseproxy:", err)
		os.Exit(1)
	}
}
