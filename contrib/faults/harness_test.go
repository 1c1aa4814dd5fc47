package faults

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// network is a way to a server that can be made bad.
type network struct{ *toxiproxy.Proxy }

func newNetwork(t *testing.T, upstream string) *network {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(api, t.Name(), "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return &network{p}
}

func (n *network) addr() string { return n.Listen }

// spoil adds a toxic, given as toxiproxy's API takes it.
func (n *network) spoil(t *testing.T, toxic string) {
	t.Helper()
	if toxic == "" {
		return
	}
	if _, err := n.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		t.Fatal(err)
	}
}

func (n *network) heal(t *testing.T) {
	t.Helper()
	n.Toxics.ResetToxics(t.Context())
}

// down refuses connections and cuts those there are; up takes them again, at
// the same address.
func (n *network) down() { n.Stop() }

func (n *network) up(t *testing.T) {
	t.Helper()
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
}

// The faults, as toxiproxy calls them. Time out of 0 is for ever: the
// connection stays and nothing comes through, which is TCP half open.
const (
	latency   = `{"type":"latency","stream":"downstream","attributes":{"latency":1000}}`
	late      = `{"type":"latency","stream":"downstream","attributes":{"latency":60}}`
	halfOpen  = `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`
	swallowed = `{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`
	closed    = `{"type":"timeout","stream":"downstream","attributes":{"timeout":20}}`
	reset     = `{"type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`
	slowClose = `{"type":"slow_close","stream":"downstream","attributes":{"delay":60}}`
	bandwidth = `{"type":"bandwidth","stream":"downstream","attributes":{"rate":60}}`
	sliced    = `{"type":"slicer","stream":"downstream","attributes":{"average_size":50,"size_variation":10,"delay":1}}`
	cut       = `{"type":"limit_data","stream":"downstream","attributes":{"bytes":1000}}`
)

// patience is the deadline of a call: long against loopback, short against
// the faults.
const patience = 400 * time.Millisecond

// books are the outcomes that a breaker has counted. Where slow is 0 any
// number will do: on a busy machine every call may be slow.
type books struct{ succeeded, failed, ignored, slow uint64 }

func wantBooks(t *testing.T, b *atomicbreaker.Breaker, want books) {
	t.Helper()
	var got books
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s := b.Snapshot()
		got = books{s.Succeeded, s.Failed, s.Ignored, s.Slow}
		if want.slow == 0 {
			got.slow = 0
		}
		if got == want {
			return
		}
	}
	t.Errorf("breaker counted %+v, want %+v", got, want)
}

// quick is a breaker whose outages pass in little real time.
func quick() *atomicbreaker.Breaker {
	return atomicbreaker.MustNew(atomicbreaker.Config{
		ConsecutiveFailures: 3,
		Cooldown:            atomicbreaker.Cooldown{Min: 50 * time.Millisecond, Max: 50 * time.Millisecond, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Quiet: 20 * time.Millisecond},
	})
}

// outage makes calls until the breaker refuses, heals the network, and makes
// calls until the breaker is closed.
func outage(t *testing.T, b *atomicbreaker.Breaker, call func() error, heal func()) {
	t.Helper()
	for n := 0; ; n++ {
		if err := call(); atomicbreaker.IsRejected(err) {
			break
		} else if n > 10 {
			t.Fatalf("not open after %d calls: %v", n, err)
		}
	}
	heal()
	for deadline := time.Now().Add(10 * time.Second); b.State() != atomicbreaker.StateClosed; time.Sleep(5 * time.Millisecond) {
		if err := call(); time.Now().After(deadline) {
			t.Fatalf("not closed in 10 s: %v, last error %v", b.State(), err)
		}
	}
	if err := call(); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// fullBacklog returns the address of a listener that does not accept and
// whose queue is full: the kernel drops what asks to connect.
func fullBacklog(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	for range 4 { // until one hangs
		conn, err := net.DialTimeout("tcp", addr, 50*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the listener's queue does not fill")
	return ""
}
