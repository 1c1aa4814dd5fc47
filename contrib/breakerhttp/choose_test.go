package breakerhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestWeights(t *testing.T) {
	for _, choice := range []breakerhttp.Choice{breakerhttp.LeastRequest, breakerhttp.RoundRobin} {
		s := &site{answer: func(*http.Request) (int, error) { return 200, nil }}
		c := breakerhttp.PoolConfig{Choice: choice, Members: []breakerhttp.Member{{URL: "http://a"}, {URL: "http://b", Weight: 3}}, Transport: breakerhttp.Transport{Base: s}}
		pool, err := breakerhttp.NewPool(c)
		if err != nil {
			t.Fatal(err)
		}
		for range 4000 {
			status(pool, "GET")
		}
		if a := s.asked["a"]; a > 1200 || choice == breakerhttp.RoundRobin && a != 1000 {
			t.Errorf("choice %d: %v, want a quarter at a, at most", choice, s.asked)
		}
	}
}

func TestAffinity(t *testing.T) {
	s := &site{answer: func(r *http.Request) (int, error) { return 200, nil }}
	hosts := []string{"a", "b", "c", "d"}
	pool := newPool(t, s, breakerhttp.PoolConfig{Key: func(r *http.Request) string { return r.Header.Get("User") }}, hosts...)
	home := func(user int) string {
		clear(s.asked)
		status(pool, "GET", "User", fmt.Sprint(user))
		for h := range s.asked {
			return h
		}
		return ""
	}
	homes := map[int]string{}
	count := map[string]int{}
	for u := range 1000 {
		homes[u] = home(u)
		count[homes[u]]++
		if home(u) != homes[u] {
			t.Fatal("a key has two homes")
		}
	}
	for _, h := range hosts {
		if count[h] < 200 || count[h] > 300 {
			t.Errorf("%v, want a quarter each", count)
		}
	}
	pool.Backends()[1].Breaker().Trip()
	for u := range 1000 {
		if h := home(u); homes[u] != "b" && h != homes[u] || h == "b" {
			t.Fatalf("key of %s went to %s while b is open", homes[u], h)
		}
	}
	pool.Backends()[1].Breaker().Reset()
	for u := range 1000 {
		if home(u) != homes[u] {
			t.Fatal("a key did not come home")
		}
	}
}

func TestRedirects(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/further" {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		elsewhere.Add(1)
		io.WriteString(w, "elsewhere")
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/further", http.StatusFound)
		case "/relative":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/self":
			http.Redirect(w, r, "http://"+r.Host+"/end", http.StatusFound)
		default:
			io.WriteString(w, "here")
		}
	}))
	defer s.Close()
	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.CloseIdleConnections()
	client := &http.Client{Transport: pool}
	for path, want := range map[string]string{"/away": "elsewhere", "/relative": "here", "/self": "here"} {
		resp, err := client.Get("http://any.example" + path)
		if err != nil {
			t.Fatal(path, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %q, want %q", path, body, want)
		}
	}
	if n := pool.Backends()[0].Breaker().Snapshot().Succeeded; n != 5 || elsewhere.Load() != 1 {
		t.Errorf("the pool was asked %d times, want 5; elsewhere %d, want 1", n, elsewhere.Load())
	}
}
