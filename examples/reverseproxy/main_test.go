package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServe(t *testing.T) {
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer live.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- serve(ctx, l, []string{dead.URL, live.URL}) }()
	for range 50 {
		resp, err := http.Get(fmt.Sprint("http://", l.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "hello" {
			t.Fatalf("a user got %s %q", resp.Status, body)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestOwnBackends(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	backends, err := ownBackends(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 500} {
		resp, err := http.Get(backends[i])
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("backend %d answers %s at first, want %d", i+1, resp.Status, want)
		}
	}
}

func TestServeWithoutBackends(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := serve(t.Context(), l, nil); err == nil {
		t.Error("no error")
	}
}
