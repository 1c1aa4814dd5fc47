package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
)

// TestCaddyfile runs the example with one upstream alive and one dead.
func TestCaddyfile(t *testing.T) {
	text, err := os.ReadFile("Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer live.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := l.Addr().String()
	l.Close()
	site := strings.NewReplacer(":8080", "http://"+front, "127.0.0.1:9001", dead.Listener.Addr().String(), "127.0.0.1:9002", live.Listener.Addr().String()).Replace(string(text))
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte("{\nadmin off\npersist_config off\nlog {\nlevel PANIC\n}\n}\n"+site), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(config, true); err != nil {
		t.Fatal(err)
	}
	defer caddy.Stop()
	for range 30 {
		resp, err := http.Post(fmt.Sprint("http://", front), "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "hello" {
			t.Fatalf("a user got %s %q", resp.Status, body)
		}
	}
}
