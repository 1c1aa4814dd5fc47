package breakerlease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// FleetOptions say how a [Fleet] works. Only Store must be set. All members
// of a fleet should have the same; those that differ are reported in
// [Fleet.Status] and in the log.
type FleetOptions struct {
	// Store keeps the leases. It must be set.
	Store Store

	// TTL is how long a lease lives if it is not renewed, 10 ms to 1 h. After this
	// time another breaker may probe, if the process that had the lease has died or
	// if its probe has failed. After a failed probe, the time is a tenth of the
	// cooldown of the breaker that probed, if that is longer. A lease is renewed
	// three times in each TTL. It never lives longer than Cooldown.Max of the
	// breaker that has it. While the dependency is down, each breaker asks the Store
	// about once in a TTL. Default: 100 ms. With that, a fleet of fifty notices the
	// end of an outage as soon as breakers without a lease do.
	TTL time.Duration

	// Timeout is how long a breaker waits for the Store, 1 ms to 1 s. A question
	// that takes longer is not cancelled, so that a connection that is being made is
	// ready for the next question. Default: three times what the Store's answers
	// have been taking, 25 ms to 250 ms.
	Timeout time.Duration

	// OpenWithOthers opens the breakers of this process that are half-open or
	// closed when a probe of another has failed. Default: they wait for
	// failures of their own.
	OpenWithOthers bool

	// Identity says what this fleet is, such as the address of the
	// dependencies. Members with different identities are reported, because two
	// fleets may have the same names by mistake. Default: empty, not compared.
	Identity string

	// Commands lets this Fleet give commands, and take those of others; see
	// [Fleet.Command]. Everyone who may write to the Store may then trip, reset and
	// force the breakers of this process. Default: false.
	Commands bool

	// OnCommand is called with each command before it is carried out, for an audit.
	// The Logger gets it too. It must not block. Default: nil.
	OnCommand func(Command)

	// Logger gets a record when the Store fails, at most one in each LogEvery, and
	// when it is back. Default: none; StatusOf has each breaker's last failure.
	Logger *slog.Logger

	// LogEvery is the shortest time between two records of failures, 1 s to 24 h.
	// Default: 1 minute.
	LogEvery time.Duration
}

func (o *FleetOptions) fill() {
	for field, otherwise := range map[*time.Duration]time.Duration{
		&o.TTL: 100 * time.Millisecond, &o.LogEvery: time.Minute,
	} {
		if *field == 0 {
			*field = otherwise
		}
	}
}

// Validate returns every fault of the options.
func (o FleetOptions) Validate() error {
	o.fill()
	var faults []error
	if o.Store == nil {
		faults = append(faults, errors.New("breakerlease: Store is nil, want one"))
	}
	span := func(field string, d, low, high time.Duration) {
		if d < low || d > high {
			faults = append(faults, fmt.Errorf("breakerlease: %s is %v, want %v to %v", field, d, low, high))
		}
	}
	span("TTL", o.TTL, 10*time.Millisecond, time.Hour)
	span("Timeout", cmp.Or(o.Timeout, minTimeout), time.Millisecond, time.Second)
	span("LogEvery", o.LogEvery, time.Second, 24*time.Hour)
	return errors.Join(faults...)
}

// Fleet is this process's part of a fleet of breakers that share a [Store].
// Its methods are safe for concurrent use.
type Fleet struct {
	o      FleetOptions
	store  Store
	id     string // of this process, to know its own messages by
	holder string // of this process, for people
	log    *limitedLog
	peers  peers

	ctx     context.Context
	stop    context.CancelFunc
	mu      sync.Mutex // of closed, and of adding to running
	closed  bool
	running sync.WaitGroup
	teams   sync.Map      // string, the name: *team
	cold    chan struct{} // a question was too slow: see to the connection
	hears   atomic.Bool
	trip    atomic.Int64 // how long the Store's answers have been taking; 0: not measured
}

// Where FleetOptions.Timeout is left out, it is between these.
const (
	minTimeout = 25 * time.Millisecond
	maxTimeout = 250 * time.Millisecond
)

func (f *Fleet) timeout() time.Duration {
	if f.o.Timeout > 0 {
		return f.o.Timeout
	}
	return min(max(minTimeout, 3*time.Duration(f.trip.Load())), maxTimeout)
}

var errClosed = errors.New("breakerlease: the Fleet is closed")

// NewFleet makes a Fleet and begins to listen to the others. It does not wait
// for the Store. The error joins every fault of the options. [Fleet.Close] ends it.
func NewFleet(o FleetOptions) (*Fleet, error) {
	o.fill()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	f := &Fleet{
		o: o, store: o.Store, id: rand.Text(), holder: fmt.Sprintf("%s/%d", host, os.Getpid()),
		log: &limitedLog{to: o.Logger, every: o.LogEvery}, cold: make(chan struct{}, 1),
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.start(f.listen)
	f.start(f.keepWarm)
	f.start(f.greet)
	return f, nil
}

// New makes a breaker that takes part in the fleet under its Name, which must
// not be empty. Breakers of one name, in all processes, have one lease.
func (f *Fleet) New(c atomicbreaker.Config) (*atomicbreaker.Breaker, error) {
	t, err := f.teamOf(c)
	if err != nil {
		return nil, err
	}
	b, err := New(c, &lease{f, t}, Options{timeout: f.timeout})
	if err == nil {
		t.join(b)
	}
	return b, err
}

// Config returns c with what makes one breaker take part in the fleet, for those
// that are made elsewhere, such as by a Group; see [Join]. Such a
// breaker hears of the others from its first question on; one that Fleet.New
// has made hears of them at once. It fails if the Name is empty.
func (f *Fleet) Config(c atomicbreaker.Config) (atomicbreaker.Config, error) {
	t, err := f.teamOf(c)
	if err != nil {
		return c, err
	}
	return Join(c, &lease{f, t}, Options{timeout: f.timeout})
}

func (f *Fleet) teamOf(c atomicbreaker.Config) (*team, error) {
	if c.Name == "" {
		return nil, errors.New("breakerlease: Config.Name is empty, want the name that the fleet knows the dependency by")
	}
	return f.team(c.Name), nil
}

// Close ends what the Fleet has begun, leases included. It waits for that for
// twice the Timeout at most; calls of a Store that stands still end by
// themselves, within a second. Breakers stay what they are, each for itself.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	ended := make(chan struct{})
	go func() { f.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * f.timeout()):
	}
}

// start runs what on a goroutine that Close waits for. It reports false if it is too late.
func (f *Fleet) start(what func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.running.Go(what)
	}
	return !f.closed
}

// storeTimeout bounds each call of the Store. Breakers wait for less.
const storeTimeout = time.Second

// maxOut is how many calls of the Store for one name are under way at most.
const maxOut = 8

var (
	errSlow = errors.New("breakerlease: the store has not answered within Timeout")
	errBusy = errors.New("breakerlease: the store has not answered earlier questions")
)

// within runs a call of the Store, and waits for it until ctx is done. The
// call goes on: one that is broken off would take its connection with it,
// and each question would find none.
func (f *Fleet) within(ctx context.Context, t *team, call func(context.Context) error) error {
	if t.out.Add(1) > maxOut {
		t.out.Add(-1)
		return errBusy
	}
	done := make(chan error, 1)
	if !f.start(func() {
		defer t.out.Add(-1)
		long, cancel := context.WithTimeout(f.ctx, storeTimeout)
		defer cancel()
		began := time.Now()
		err := call(long)
		if err == nil {
			f.measured(time.Since(began))
		}
		if f.ctx.Err() == nil {
			f.log.note(err)
		}
		done <- err
	}) {
		t.out.Add(-1)
		return errClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		select {
		case f.cold <- struct{}{}:
		default:
		}
		f.log.note(errSlow)
		return errSlow
	}
}
