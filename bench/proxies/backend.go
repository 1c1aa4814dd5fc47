package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// mode is what a backend does.
type mode int32

const (
	well mode = iota
	killed
	unavailable // 503
	hanging
	slow
	flapping   // 503 every other half second
	mostlySick // 500 to 60 %
	limited    // serves 0.4 times the rate, and 503 beyond a short queue
)

// fault is a scenario: the modes of both backends while it lasts.
type fault struct {
	name string
	on   [2]mode
}

var faults = []fault{
	{"kill", [2]mode{killed, well}},
	{"503", [2]mode{unavailable, well}},
	{"hang", [2]mode{hanging, well}},
	{"slow", [2]mode{slow, well}},
	{"flap", [2]mode{flapping, well}},
	{"all-sick", [2]mode{mostlySick, mostlySick}},
	{"overload", [2]mode{limited, limited}},
}

// backend is an HTTP server that can be made faulty.
type backend struct {
	addr string
	rate int
	book *book

	mode   atomic.Int32
	since  atomic.Int64 // when the mode began
	places chan struct{}
	queued atomic.Int64

	mu     sync.Mutex
	server *http.Server
}

func newBackend(rate int, b *book) (*backend, error) {
	s := &backend{rate: rate, book: b, places: make(chan struct{}, max(1, rate/100))}
	return s, s.listen("127.0.0.1:0")
}

func (b *backend) listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addr = l.Addr().String()
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	go b.server.Serve(l)
	return nil
}

func (b *backend) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.Close()
}

// set changes the mode. A killed backend drops every connection and its port.
func (b *backend) set(m mode) error {
	was := mode(b.mode.Swap(int32(m)))
	b.since.Store(time.Now().UnixNano())
	switch {
	case m == killed:
		b.close()
	case was == killed:
		return b.listen(b.addr)
	}
	return nil
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	if r.URL.Path == "/call" {
		b.book.arrived(r.Header.Get("X-Number"))
	}
	if status := b.answer(r); status != 200 {
		w.WriteHeader(status)
		return
	}
	if r.URL.Path == "/call" {
		b.book.served(b)
	}
	fmt.Fprintln(w, "ok")
}

func (b *backend) answer(r *http.Request) int {
	switch mode(b.mode.Load()) {
	case unavailable:
		return 503
	case hanging:
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
		return 503
	case slow:
		time.Sleep(500 * time.Millisecond)
	case flapping:
		if (time.Now().UnixNano()-b.since.Load())/int64(500*time.Millisecond)%2 == 0 {
			return 503
		}
	case mostlySick:
		if rand.Float64() < 0.6 {
			return 500
		}
	case limited:
		if b.queued.Add(1) > int64(3*cap(b.places)) {
			b.queued.Add(-1)
			return 503
		}
		defer b.queued.Add(-1)
		b.places <- struct{}{}
		time.Sleep(time.Duration(float64(cap(b.places)) / (0.4 * float64(b.rate)) * float64(time.Second)))
		<-b.places
	}
	return 200
}

// book is what reached the backends.
type book struct {
	mu       sync.Mutex
	times    map[string]int // how often each call arrived
	mended   time.Time
	back     int           // calls that the mended backend has served
	returned time.Duration // until it had served ten
	faulty   *backend
}

func (b *book) arrived(number string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times[number]++
}

func (b *book) served(by *backend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by != b.faulty || b.mended.IsZero() {
		return
	}
	if b.back++; b.back == 10 {
		b.returned = time.Since(b.mended)
	}
}
