package breakerredis

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A worker is one process of a fleet: this test's own program, started again.
type worker struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	mu      sync.Mutex
	events  []event
	started time.Time
}

// job is what a worker is told to do, in its environment.
type job struct {
	Redis      string // empty: each breaker for itself
	Dependency string
	Breakers   int
	TTL        time.Duration
	Timeout    time.Duration
	Every      time.Duration // between the calls of one breaker
}

// event is a change of state that a worker tells of, a line each.
type event struct {
	Breaker int       `json:"breaker"`
	To      string    `json:"to"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	worker  *worker
}

const jobInEnv = "BREAKERREDIS_JOB"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobInEnv); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		j.do()
		return
	}
	LimitClientLog(nil, time.Minute)
	os.Exit(m.Run())
}

// quick is a breaker that trips, and recovers, in a time that a test has.
func quick(name string) atomicbreaker.Config {
	return atomicbreaker.Config{
		Name: name, ConsecutiveFailures: 3, FailureRate: atomicbreaker.Off,
		Cooldown: atomicbreaker.Cooldown{Min: 200 * time.Millisecond, Max: time.Second},
		Recovery: atomicbreaker.Recovery{Quiet: 200 * time.Millisecond},
	}
}

// do calls the dependency until the standard input ends.
func (j job) do() {
	LimitClientLog(nil, time.Minute)
	var fleet *Fleet
	if j.Redis != "" {
		var err error
		fleet, err = New(Options{Client: redis.NewClient(Tuned(redis.Options{Addr: j.Redis})), TTL: j.TTL, Timeout: j.Timeout})
		if err != nil {
			panic(err)
		}
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	for i := range j.Breakers {
		c := quick("dependency")
		c.OnTransition = func(t atomicbreaker.Transition) {
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(event{Breaker: i, To: t.To.String(), Reason: t.Reason.String(), At: time.Now()})
		}
		b, err := atomicbreaker.New(c)
		if fleet != nil {
			b, err = fleet.New(c)
		}
		if err != nil {
			panic(err)
		}
		go func() {
			for range time.Tick(j.Every) {
				_ = b.Do(context.Background(), func(ctx context.Context) error {
					return call(ctx, client, fmt.Sprintf("%s?from=%d", j.Dependency, os.Getpid()))
				})
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func call(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

// startWorkers starts n processes with the same job.
func startWorkers(t *testing.T, n int, j job) []*worker {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	var all []*worker
	for range n {
		w := &worker{t: t, started: time.Now()}
		w.cmd = exec.Command(os.Args[0])
		w.cmd.Env = append(os.Environ(), jobInEnv+"="+string(text), "GOMAXPROCS=1")
		w.cmd.Stderr = os.Stderr
		w.stdin, err = w.cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := w.cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, w.cmd.Start())
		read := make(chan struct{})
		go func() {
			defer close(read)
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				e := event{worker: w}
				if json.Unmarshal(lines.Bytes(), &e) == nil {
					w.mu.Lock()
					w.events = append(w.events, e)
					w.mu.Unlock()
				}
			}
		}()
		t.Cleanup(func() {
			_ = w.cmd.Process.Kill()
			<-read
			_ = w.cmd.Wait()
		})
		all = append(all, w)
	}
	return all
}

// states is the state that each breaker of a worker has told of last.
func (w *worker) states() map[int]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	states := map[int]string{}
	for _, e := range w.events {
		states[e.Breaker] = e.To
	}
	return states
}

// since returns the events of some workers after an instant.
func since(workers []*worker, from time.Time) []event {
	var all []event
	for _, w := range workers {
		w.mu.Lock()
		for _, e := range w.events {
			if !e.At.Before(from) {
				all = append(all, e)
			}
		}
		w.mu.Unlock()
	}
	return all
}

// inState counts the breakers that have told of a state last; breakers that
// have told of nothing are closed.
func inState(workers []*worker, breakers int, state string) int {
	n := 0
	for _, w := range workers {
		states := w.states()
		for i := range breakers {
			if got, told := states[i]; got == state || !told && state == "closed" {
				n++
			}
		}
	}
	return n
}

// eventually waits for a condition.
func eventually(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, within, 2*time.Millisecond, what)
}

// statusOf is what the Lease has done for a breaker.
func statusOf(b *atomicbreaker.Breaker) breakerlease.Status {
	s, _ := breakerlease.StatusOf(b, b.Snapshot())
	return s
}
