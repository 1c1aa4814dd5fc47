// Package overload is a dependency that can be overloaded, and users that do
// not give up, for tests of whether a breaker behind an integration lets the
// dependency recover. It is to be run in a testing/synctest bubble.
//
// The dependency has 20 workers, each of which takes 25 ms and an exponential
// 25 ms for a call: 400 calls a second. Before them is a queue that is long
// enough for the calls of several seconds, and the dependency works on calls
// whose client has left: once the queue is longer than the clients' patience
// of 1 s, all of its work is for nothing. Users come at random, 100 in a
// second, and 800 in a second from the 10th to the 20th, and try again 0.5 to
// 1.5 s after a failure or refusal, for ever.
package overload

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	workers  = 20
	queue    = 2000
	service  = 25 * time.Millisecond
	base     = 100 // users in a second
	surge    = 800
	patience = time.Second
	begin    = 10 * time.Second
	end      = 20 * time.Second
	horizon  = 48 * time.Second
)

// ErrFull is the answer of the dependency when its queue is full.
type ErrFull struct{}

func (ErrFull) Error() string { return "the queue is full" }

// Result is what came of it.
type Result struct {
	Users, Served int           // who came, and who got an answer in the end
	Failed        int           // calls that the dependency did not answer in time
	Refused       int           // calls that were not sent
	Recovered     time.Duration // after the surge, until for five seconds hardly anybody had to try again; 0 is never
}

// Run sends the users' calls through send, which is given the dependency and
// returns what the user sees, and whether the call was refused.
func Run(seed uint64, send func(ctx context.Context, dependency func(context.Context) error) (refused bool, err error)) Result {
	d := &dependency{queue: make(chan *job, queue)}
	stop := make(chan struct{})
	var working sync.WaitGroup
	for i := range workers {
		working.Go(func() { d.work(rand.New(rand.NewPCG(seed, uint64(i))), stop) })
	}
	var (
		mu      sync.Mutex
		r       Result
		waiting = make([]int, horizon/time.Second) // users who wait since an earlier try, by second
		users   sync.WaitGroup
		rnd     = rand.New(rand.NewPCG(seed, workers))
		began   = time.Now()
	)
	ctx, cancel := context.WithCancel(context.Background())
	for now := time.Duration(0); now < horizon; now = time.Since(began) {
		rate := float64(base)
		if now >= begin && now < end {
			rate = surge
		}
		r.Users++
		user := rand.New(rand.NewPCG(seed, uint64(workers+r.Users)))
		users.Go(func() {
			for again := false; ctx.Err() == nil; again = true {
				refused, err := try(ctx, d, send)
				mu.Lock()
				switch {
				case err == nil:
					r.Served++
				case ctx.Err() != nil:
				case refused:
					r.Refused++
				default:
					r.Failed++
				}
				if second := int(time.Since(began) / time.Second); again && second < len(waiting) {
					waiting[second]++
				}
				mu.Unlock()
				if err == nil {
					return
				}
				pause(ctx, 500*time.Millisecond+time.Duration(user.Int64N(int64(time.Second))))
			}
		})
		pause(ctx, time.Duration(rnd.ExpFloat64()/rate*float64(time.Second)))
	}
	cancel()
	users.Wait()
	close(stop)
	working.Wait()
	for s := int(end / time.Second); s+5 <= len(waiting) && r.Recovered == 0; s++ {
		if few(waiting[s : s+5]) {
			r.Recovered = time.Duration(s)*time.Second - end
		}
	}
	return r
}

// few reports whether hardly anybody had to try again: one user in twenty.
func few(waiting []int) bool {
	sum := 0
	for _, n := range waiting {
		sum += n
	}
	return sum <= base*len(waiting)/20
}

func try(ctx context.Context, d *dependency, send func(context.Context, func(context.Context) error) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return send(ctx, d.call)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

type job struct{ done chan struct{} }

type dependency struct{ queue chan *job }

func (d *dependency) call(ctx context.Context) error {
	j := &job{make(chan struct{})}
	select {
	case d.queue <- j:
	default:
		time.Sleep(time.Millisecond)
		return ErrFull{}
	}
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *dependency) work(rnd *rand.Rand, stop <-chan struct{}) {
	for {
		select {
		case j := <-d.queue:
			time.Sleep(service + time.Duration(rnd.ExpFloat64()*float64(service)))
			close(j.done)
		case <-stop:
			return
		}
	}
}
