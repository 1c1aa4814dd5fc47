package breakerpostgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// postgres is a real server on loopback.
type postgres struct {
	port string
	cmd  *exec.Cmd
}

// binary finds a program of the server, which Debian keeps off the path.
func binary(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		t.Skip("SKIPPED: PostgreSQL is NOT INSTALLED, so that nothing here was tested against a real one. Install it: apt-get install postgresql")
	}
	slices.Sort(found)
	return found[len(found)-1]
}

// notRoot makes a command run as the server's user where this is root, as
// which the server does not start.
func notRoot(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return
	}
	who, err := user.Lookup("postgres")
	require.NoError(t, err)
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	require.NoError(t, os.Chown(dir, uid, gid))
}

func startPostgres(t *testing.T) *postgres {
	t.Helper()
	initdb, server := binary(t, "initdb"), binary(t, "postgres")
	dir, err := os.MkdirTemp("", "breakerpostgres")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		notRoot(t, cmd, dir)
		return cmd
	}
	out, err := command(initdb, "-D", data, "-A", "trust", "-U", "test", "--no-sync").CombinedOutput()
	require.NoError(t, err, "%s", out)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	p := &postgres{port: port}
	p.cmd = command(server, "-D", data, "-p", port, "-h", "127.0.0.1", "-k", dir, "-c", "fsync=off")
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // at once, its children too
		_ = p.cmd.Wait()
	})
	admin := p.connect(t, "127.0.0.1:"+port)
	require.Eventually(t, func() bool { return admin.Migrate(context.Background()) == nil }, 20*time.Second, 20*time.Millisecond)
	return p
}

// connect returns a Store with a pool of its own.
func (p *postgres) connect(t *testing.T, addr string) *Store {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), fmt.Sprintf("postgres://test@%s/postgres?sslmode=disable&pool_min_conns=1", addr))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := NewStore(pool, "")
	require.NoError(t, err)
	return s
}

// link stands between clients and the server, and can cut them off or let their bytes wait.
type link struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	paused   chan struct{}
}

func startLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &link{listener: listener}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, in, out)
			l.mu.Unlock()
			go l.copy(out, in)
			go l.copy(in, out)
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); l.cut() })
	return l
}

func (l *link) copy(dst, src net.Conn) {
	defer dst.Close()
	defer src.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := src.Read(buffer)
		l.mu.Lock()
		paused := l.paused
		l.mu.Unlock()
		if paused != nil {
			<-paused
		}
		if _, err2 := dst.Write(buffer[:n]); err != nil || err2 != nil {
			return
		}
	}
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

func (l *link) pause() { l.mu.Lock(); l.paused = make(chan struct{}); l.mu.Unlock() }

func (l *link) resume() { l.mu.Lock(); close(l.paused); l.paused = nil; l.mu.Unlock() }

// The tests that any store must pass, on a real PostgreSQL.
func TestStoreOnPostgres(t *testing.T) {
	p := startPostgres(t)
	admin := p.connect(t, "127.0.0.1:"+p.port)
	leasetest.Run(t, func(t *testing.T) leasetest.Server {
		lose := func(t *testing.T) {
			_, err := admin.pool.Exec(context.Background(), "TRUNCATE circuitbreaker_lease")
			require.NoError(t, err)
		}
		lose(t)
		l := startLink(t, "127.0.0.1:"+p.port)
		return leasetest.Server{
			Connect: func(t *testing.T) breakerlease.Store { return p.connect(t, l.listener.Addr().String()) },
			Lose:    lose,
			Cut:     func(*testing.T) { l.cut() },
			Pause:   func(*testing.T) { l.pause() },
			Resume:  func(*testing.T) { l.resume() },
		}
	})
}

// One of a fleet probes for all, and the server's death leaves each for itself.
func TestFleetOnPostgres(t *testing.T) {
	p := startPostgres(t)
	var all []*atomicbreaker.Breaker
	for range 5 {
		fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: p.connect(t, "127.0.0.1:"+p.port)})
		require.NoError(t, err)
		t.Cleanup(fleet.Close)
		require.Eventually(t, func() bool { return fleet.Status().Listening }, 10*time.Second, 5*time.Millisecond)
		b, err := fleet.New(atomicbreaker.Config{Name: "x", Cooldown: atomicbreaker.Cooldown{Min: 300 * time.Millisecond}})
		require.NoError(t, err)
		all = append(all, b)
	}
	count := func(holds func(b *atomicbreaker.Breaker) bool) (n int) {
		for _, b := range all {
			if holds(b) {
				n++
			}
		}
		return n
	}
	held := func(b *atomicbreaker.Breaker) bool { s, _ := breakerlease.StatusOf(b, b.Snapshot()); return s.Held }
	alone := func(b *atomicbreaker.Breaker) bool { s, _ := breakerlease.StatusOf(b, b.Snapshot()); return s.Alone }
	halfOpen := func(b *atomicbreaker.Breaker) bool { return b.State() == atomicbreaker.StateHalfOpen }
	for _, b := range all {
		b.Trip()
	}
	require.Eventually(t, func() bool { return count(held) == 1 }, 10*time.Second, time.Millisecond)
	for _, b := range all {
		if held(b) {
			ticket, err := b.Acquire()
			require.NoError(t, err)
			ticket.Report(atomicbreaker.Success)
			break
		}
	}
	require.Eventually(t, func() bool { return count(halfOpen) == 5 }, 10*time.Second, time.Millisecond)

	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	_ = p.cmd.Wait()
	for _, b := range all {
		b.Reset()
		b.Trip()
	}
	require.Eventually(t, func() bool { return count(alone) == 5 && count(halfOpen) == 5 }, 10*time.Second, time.Millisecond)
}

func TestFaultsAreAllTold(t *testing.T) {
	_, err := NewStore(nil, "Not a name")
	require.ErrorContains(t, err, "pool is nil")
	require.ErrorContains(t, err, `named "Not a name"`)
}
