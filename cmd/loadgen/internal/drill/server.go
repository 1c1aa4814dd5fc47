package drill

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// fault is a way for the server to be broken.
type fault string

const (
	healthy   fault = "none"
	dead      fault = "dead"     // the port is closed, connections are cut: connections are refused
	hang      fault = "hang"     // takes requests and never answers
	errors5xx fault = "5xx"      // answers every request with status 500
	slow      fault = "slow"     // answers after faultyServer.delay
	overload  fault = "overload" // serves faultyServer.capacity requests a second, in order of arrival
)

// faults are the ones to choose from, with what the timeline says of each.
var faults = map[fault]string{
	dead:      "the server dies: connections are refused",
	hang:      "the server hangs: it takes requests and never answers",
	errors5xx: "the server breaks: it answers with status 500",
	slow:      "the server gets slow: it answers when its callers have given up",
	overload:  "the server loses capacity: a queue builds up before it",
}

// serviceTime is how long a healthy server works on a request.
const serviceTime = 2 * time.Millisecond

// faultyServer is an HTTP server on loopback that can be broken and mended.
type faultyServer struct {
	delay    time.Duration // of slow
	capacity float64       // of overload, requests a second
	patience time.Duration // of overload: requests that would wait longer are answered with 503 at once

	addr  string
	fault atomic.Value // a fault
	queue fluidQueue

	mu   sync.Mutex
	http *http.Server // nil while dead
}

// start takes a free port on loopback and serves.
func (s *faultyServer) start() error {
	s.fault.Store(healthy)
	s.addr = "127.0.0.1:0"
	return s.listen()
}

func (s *faultyServer) url() string { return "http://" + s.addr + "/" }

// inflict breaks the server, or with healthy mends it.
func (s *faultyServer) inflict(f fault) error {
	s.queue.reset()
	s.fault.Store(f)
	if f == dead {
		return s.kill()
	}
	return s.listen()
}

// kill closes the port and every connection, which ends what hangs in them.
func (s *faultyServer) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return nil
	}
	err := s.http.Close()
	s.http = nil
	return err
}

// listen serves on the server's address, the same one again after a death. An
// outgoing connection may hold the port for a moment.
func (s *faultyServer) listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.addr)
	for deadline := time.Now().Add(time.Second); err != nil; listener, err = net.Listen("tcp", s.addr) {
		if time.Now().After(deadline) {
			return fmt.Errorf("the server cannot listen: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.addr = listener.Addr().String()
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	go s.http.Serve(listener)
	return nil
}

func (s *faultyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	work := serviceTime
	switch s.fault.Load().(fault) {
	case hang:
		s.sleep(r.Context(), time.Hour)
		panic(http.ErrAbortHandler)
	case errors5xx:
		http.Error(w, "injected fault", http.StatusInternalServerError)
		return
	case slow:
		work = s.delay
	case overload:
		wait, ok := s.queue.enter(time.Now(), s.capacity, s.patience)
		if !ok {
			http.Error(w, "queue is full", http.StatusServiceUnavailable)
			return
		}
		work += wait
	}
	if err := s.sleep(r.Context(), work); err == nil {
		io.WriteString(w, "ok\n")
	}
}

// sleep returns early when the connection is gone: the caller has left, or the
// server was stopped.
func (s *faultyServer) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fluidQueue is a queue in front of one worker of a fixed speed, kept as the
// instant at which the worker will be free. A request whose caller has left
// keeps its place: servers go on working on it.
type fluidQueue struct {
	mu   sync.Mutex
	free time.Time
}

// enter returns how long a request has to wait until it has been served, or
// false if that is more than patience.
func (q *fluidQueue) enter(now time.Time, perSecond float64, patience time.Duration) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free.Before(now) {
		q.free = now
	}
	if q.free.Sub(now) > patience {
		return 0, false
	}
	q.free = q.free.Add(time.Duration(float64(time.Second) / perSecond))
	return q.free.Sub(now), true
}

func (q *fluidQueue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = time.Time{}
}
