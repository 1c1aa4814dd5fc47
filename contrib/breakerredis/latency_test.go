package breakerredis

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// farAway is a way to a server on which each byte takes half a round trip, in
// both directions, however many are under way. With TLS the server's end speaks
// it, so that its handshake takes round trips too.
func farAway(t *testing.T, to string, trip time.Duration, secure bool) string {
	t.Helper()
	if secure {
		to = tlsInFrontOf(t, to)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, l, func(in net.Conn) {
		<-time.After(trip) // the handshake of TCP
		out, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		both(in, out, func(dst, src net.Conn) { delayed(dst, src, trip/2) })
	})
	return l.Addr().String()
}

func serve(t *testing.T, l net.Listener, f func(net.Conn)) {
	var conns sync.Map
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			conns.Store(in, true)
			go func() {
				defer in.Close()
				f(in)
				conns.Delete(in)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		conns.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
	})
}

// both copies in both directions until one ends.
func both(in, out net.Conn, copy func(dst, src net.Conn)) {
	defer out.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{out, in}, {in, out}} {
		go func() { copy(way[0], way[1]); done <- struct{}{} }()
	}
	<-done
}

// delayed copies, and lets each piece arrive d later than it came.
func delayed(dst, src net.Conn, d time.Duration) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := src.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now().Add(d), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		<-time.After(time.Until(p.due))
		if _, err := dst.Write(p.data); err != nil {
			_ = src.Close()
		}
	}
}

func tlsInFrontOf(t *testing.T, to string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	require.NoError(t, err)
	serve(t, l, func(in net.Conn) {
		out, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		both(in, out, func(dst, src net.Conn) { _, _ = io.Copy(dst, src) })
	})
	return l.Addr().String()
}

// trial is what a fleet made of an outage.
type trial struct {
	failed  int           // probes that failed
	granted int           // leases
	alone   int           // half-open without one
	back    time.Duration // from the mend until all are closed
	errors  map[string]int
}

func (r trial) String() string {
	return fmt.Sprintf("%d failed, %d granted, %d alone, back after %v; %v", r.failed, r.granted, r.alone, r.back.Round(time.Millisecond), r.errors)
}

// tryFleet plays an outage to n processes' worth of fleets with one breaker
// each. In a cold trial it begins with them.
func tryFleet(t *testing.T, n int, addr string, secure, cold bool) trial {
	t.Helper()
	const dead = 2 * time.Second
	var alive atomic.Bool
	alive.Store(true)
	var failed, alone atomic.Int64
	errDown := errors.New("down")
	stop := make(chan struct{})
	var callers sync.WaitGroup
	breakers := make([]*atomicbreaker.Breaker, n)
	for i := range breakers {
		c := quick("dependency")
		var fleet *Fleet
		if addr != "" {
			o := redis.Options{Addr: addr}
			if secure {
				o.TLSConfig = &tls.Config{InsecureSkipVerify: true} // a test's own
			}
			client := redis.NewClient(Tuned(o))
			var err error
			fleet, err = New(Options{Client: client})
			require.NoError(t, err)
			defer client.Close()
			defer fleet.Close()
		}
		c.OnTransition = func(t atomicbreaker.Transition) {
			if t.Reason == atomicbreaker.ReasonCooldown {
				alone.Add(1)
			}
		}
		c.OnProbe = func(p atomicbreaker.Probe) {
			if p.Outcome == atomicbreaker.Failure {
				failed.Add(1)
			}
		}
		b, err := atomicbreaker.New(c)
		if fleet != nil {
			b, err = fleet.New(c)
		}
		require.NoError(t, err)
		breakers[i] = b
	}
	if !cold {
		<-time.After(time.Second)
	}
	alive.Store(false)
	for _, b := range breakers {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				_ = b.Do(context.Background(), func(context.Context) error {
					if alive.Load() {
						return nil
					}
					return errDown
				})
			}
		})
	}
	<-time.After(dead)
	alive.Store(true)
	mended := time.Now()
	eventually(t, 20*time.Second, "all close", func() bool {
		for _, b := range breakers {
			if b.State() != atomicbreaker.StateClosed {
				return false
			}
		}
		return true
	})
	r := trial{failed: int(failed.Load()), alone: int(alone.Load()), back: time.Since(mended), errors: map[string]int{}}
	for _, b := range breakers {
		s := statusOf(b)
		r.granted += int(s.Granted)
		r.errors[s.Error]++
	}
	close(stop)
	callers.Wait()
	return r
}

// However far away Redis is, cold and over TLS, a fleet sends at most a fifth
// of the failed probes that it sends without, and is back no later.
func TestLeaseIsWorthItFromAfar(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of outages")
	}
	const n = 30
	alone := tryFleet(t, n, "", false, true)
	t.Logf("each for itself: %v", alone)
	for _, trip := range []time.Duration{100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		for _, secure := range []bool{false, true} {
			for _, cold := range []bool{false, true} {
				name := fmt.Sprintf("%v away", trip)
				if secure {
					name += ", TLS"
				}
				if cold {
					name += ", cold"
				}
				t.Run(name, func(t *testing.T) {
					s := startRedis(t)
					r := tryFleet(t, n, farAway(t, s.addr(), trip, secure), secure, cold)
					t.Logf("%v", r)
					require.LessOrEqual(t, 5*r.failed, alone.failed)
					require.LessOrEqual(t, r.back, alone.back+500*time.Millisecond, "half of the longest cooldown, for a busy machine")
				})
			}
		}
	}
}
