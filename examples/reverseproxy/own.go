package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ownBackends starts two backends on loopback, to try the proxy with: one answers,
// the other fails for the first five of every fifteen seconds. They end with ctx.
func ownBackends(ctx context.Context) ([]string, error) {
	began := time.Now()
	var urls []string
	for i, fails := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if fails && time.Since(began)%(15*time.Second) < 5*time.Second {
				http.Error(w, "broken", http.StatusInternalServerError)
				return
			}
			fmt.Fprintf(w, "hello from backend %d\n", i+1)
		})}
		context.AfterFunc(ctx, func() { server.Close() })
		go server.Serve(l)
		urls = append(urls, "http://"+l.Addr().String())
	}
	return urls, nil
}
