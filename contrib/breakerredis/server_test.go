package breakerredis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// redisServer is a real redis-server on loopback.
type redisServer struct {
	t    *testing.T
	port string
	dir  string
	args []string
	cmd  *exec.Cmd
}

func startRedis(t *testing.T, args ...string) *redisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("SKIPPED: redis-server is NOT INSTALLED, so that nothing here was tested against a real Redis. Install it: apt-get install redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	s := &redisServer{t: t, port: port, dir: t.TempDir(), args: args}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *redisServer) addr() string { return "127.0.0.1:" + s.port }

func (s *redisServer) start() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", append([]string{
		"--port", s.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir, "--loglevel", "warning",
	}, s.args...)...)
	require.NoError(s.t, s.cmd.Start())
	c := s.client()
	defer c.Close()
	eventually(s.t, 10*time.Second, "redis-server starts", func() bool { return c.Ping(context.Background()).Err() == nil })
}

func (s *redisServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *redisServer) signal(what os.Signal) { require.NoError(s.t, s.cmd.Process.Signal(what)) }

func (s *redisServer) client() *redis.Client {
	return redis.NewClient(Tuned(redis.Options{Addr: s.addr()}))
}

// proxy stands between clients and Redis.
type proxy struct {
	listener net.Listener
	to       atomic.Pointer[string]
	dropping atomic.Bool // bytes vanish
	delay    atomic.Int64
	mu       sync.Mutex
	conns    []net.Conn
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l}
	p.to.Store(&to)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(in)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve(in net.Conn) {
	out, err := net.Dial("tcp", *p.to.Load())
	if err != nil {
		_ = in.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, in, out)
	p.mu.Unlock()
	go p.copy(out, in)
	p.copy(in, out)
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if d := p.delay.Load(); d > 0 {
			<-time.After(time.Duration(d))
		}
		if !p.dropping.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// dependency is what the breakers guard.
type dependency struct {
	*httptest.Server
	dead    atomic.Bool
	hanging atomic.Bool
	release chan struct{}
	mu      sync.Mutex
	hits    []hit
}

// hit is a call that has reached the dependency.
type hit struct {
	at   time.Time
	from int // process
	good bool
}

func startDependency(t *testing.T) *dependency {
	d := &dependency{release: make(chan struct{})}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		good := !d.dead.Load()
		d.mu.Lock()
		d.hits = append(d.hits, hit{time.Now(), from, good})
		d.mu.Unlock()
		if d.hanging.Load() {
			select {
			case <-d.release:
			case <-r.Context().Done():
			}
		}
		if !good {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(d.Server.Close)
	return d
}

func (d *dependency) since(from time.Time) []hit {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, h := range d.hits {
		if !h.at.Before(from) {
			return append([]hit(nil), d.hits[i:]...)
		}
	}
	return nil
}

// monitor reads what Redis does to the leases, by its own clock, and says where
// two would have been out at once.
type monitor struct {
	mu       sync.Mutex
	grants   int
	until    float64 // seconds, by the server
	epoch    string  // of the last token
	number   int
	overlaps []string
}

var monitored = regexp.MustCompile(`^\+?([0-9.]+) \[\d+ lua\] "(\w+)" "[^"]*:lease"(?: "(?:(\w+)\.)?(\d+)(?: [^"]*)?")?(?: "PX" "(\d+)")?`)

func startMonitor(t *testing.T, addr string) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "MONITOR\r\n")
	require.NoError(t, err)
	m := new(monitor)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			m.line(lines.Text())
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return m
}

func (m *monitor) line(text string) {
	x := monitored.FindStringSubmatch(text)
	if x == nil {
		return
	}
	at, _ := strconv.ParseFloat(x[1], 64)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch strings.ToUpper(x[2]) {
	case "SET":
		number, _ := strconv.Atoi(x[4])
		px, _ := strconv.ParseFloat(x[5], 64)
		if at < m.until-0.002 || number == 0 || x[3] == m.epoch && number <= m.number {
			m.overlaps = append(m.overlaps, fmt.Sprintf("token %d at %f, token %d until %f", number, at, m.number, m.until))
		}
		m.grants++
		m.until, m.epoch, m.number = at+px/1000, x[3], number
	case "PEXPIRE":
		px, _ := strconv.ParseFloat(x[4], 64)
		m.until = at + px/1000
	case "DEL":
		m.until = at
	}
}

func (m *monitor) seen() (grants int, overlaps []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grants, m.overlaps
}

var (
	stop   = syscall.SIGSTOP
	resume = syscall.SIGCONT
)
