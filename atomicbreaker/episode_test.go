package atomicbreaker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// paper is the whole of the recovery algorithm as it is written down: the
// judging of written, and the clock. It is single-threaded and keeps
// everything in plain fields.
type paper struct {
	written
	c     Config // with defaults; no jitter
	now   time.Duration
	state State
	gen   uint32

	trippedAt, cool, openUntil time.Duration

	since, silentSince, raisedAt, pace, fastest time.Duration
	full, ticking, asked                        bool
	ticks                                       int64
	succeededProbes, failedProbes               int // the classic rule
	all, failedOfAll                            int // the verdicts of this stay in half-open

	armed time.Duration // the timer; never if it is stopped

	late, abandoned, refusedOpen, refusedHalfOpen, succeeded, failed, ignored uint64
}

type paperTicket struct {
	gen   uint32
	cut   int
	start time.Duration
	probe bool

	others int // in flight when it was admitted
}

func newPaper(c Config) *paper {
	p := &paper{c: c.WithDefaults(), armed: never}
	p.weight = int(newRecovery(p.c).weight)
	return p
}

func (p *paper) to(s State) {
	p.state = s
	p.gen++
	p.inf, p.W = 0, 0
	switch s {
	case StateOpen:
		p.openUntil = p.now + p.cool
	case StateClosed:
		p.since = p.now
	case StateHalfOpen:
		first := max(p.c.Recovery.Concurrent, 1)
		p.written = written{W: first, weight: p.weight, doubt: p.doubt}
		p.all, p.failedOfAll = 0, 0
		p.since, p.silentSince, p.raisedAt, p.pace, p.fastest = p.now, p.now, 0, p.cool, never
		p.full, p.ticking, p.asked = false, false, false
		p.succeededProbes, p.failedProbes = 0, 0
	}
	p.look()
}

func (p *paper) trip() {
	switch {
	case p.now-p.since >= p.c.Window:
		p.doubt = 0
	case p.gen > 0: // it had recovered
		p.doubt = min(p.doubt+1, 3)
	}
	p.trippedAt, p.cool = p.now, p.c.Cooldown.Min
	p.to(StateOpen)
}

func (p *paper) reopen() {
	length := (p.now - p.trippedAt) / 8
	if f := p.c.Cooldown.Factor; f != 0 {
		length = time.Duration(float64(p.cool) * f)
	}
	p.cool = min(max(length, p.c.Cooldown.Min), p.c.Cooldown.Max)
	p.to(StateOpen)
}

// well: ten successes more than keep the failures level at the trip share.
func (p *paper) well() bool {
	return (p.all-p.failedOfAll)*p.weight >= p.failedOfAll*(16-p.weight)+10*p.weight
}

// standing is what the probes since the last cut mean at a quiet tick.
func (p *paper) standing() (closes, reopens bool) {
	switch {
	case !p.alive || p.c.Recovery.Probes > 0:
		return false, false
	case p.written.calls > 0 && 16*p.written.failures >= p.weight*p.written.calls:
		return false, p.written.calls >= p.c.MinimumCalls
	}
	return p.doubt == 0 || p.well(), false
}

// relapse begins a new outage where the dependency was well: the window has seen a
// success, and fewer failed than trip. If it has only seen a success, doubt grows.
func (p *paper) relapse() {
	switch answered := p.c.Recovery.Probes == 0 && (p.alive || p.cut > 0); {
	case answered && p.well():
		p.trippedAt, p.doubt = p.now, 0
	case answered:
		p.doubt = min(p.doubt+1, 3)
	}
}

func (p *paper) acquire() (paperTicket, bool) {
	t := paperTicket{gen: p.gen, cut: p.cut, start: p.now}
	switch {
	case p.state == StateClosed:
		return t, true
	case p.state == StateOpen:
		p.refusedOpen++
		return t, false
	case p.inf >= p.W:
		p.full = true
		p.refusedHalfOpen++
		return t, false
	}
	t.probe, t.others = true, p.inf
	if !p.asked {
		p.asked, p.since = true, p.now // ticks begin with the first probe
	}
	p.inf++
	if p.inf == p.W && (p.alive || p.cut > 0) { // the first probe always fills the window
		p.full = true
	}
	if p.inf == 1 {
		p.silentSince = p.now
	}
	p.look()
	return t, true
}

func (p *paper) report(t paperTicket, o Outcome) {
	if t.gen != p.gen {
		p.late++
		return
	}
	switch o {
	case Success:
		p.succeeded++
	case Failure:
		p.failed++
	case Ignored:
		p.ignored++
	}
	switch {
	case !t.probe && o == Failure:
		p.trip() // by a streak of one
	case !t.probe:
	case p.c.Recovery.Probes > 0:
		p.reportTrial(o)
	default:
		p.reportProbe(t, o)
	}
}

func (p *paper) reportProbe(t paperTicket, o Outcome) {
	slow := false
	p.silentSince = p.now
	if o != Ignored {
		if rtt := p.now - t.start; o == Success && t.cut == p.cut {
			p.fastest = min(p.fastest, max(rtt, 1))
			slow = rtt > 3*p.fastest
		}
	}
	if o != Ignored {
		p.all++
	}
	a := answer{failed: o == Failure, others: t.others, slow: slow}
	if o == Failure {
		p.failedOfAll++
		a.door = p.fastest != never && max(p.now-t.start, 1) < p.fastest
	}
	cut := p.cut
	p.settle(t.cut, o, a)
	if o != Ignored && t.cut == cut && p.cut == cut {
		p.calls++
		if o == Failure {
			p.failures++
		}
	}
	switch {
	case p.opens:
		p.relapse()
		p.reopen()
	case p.closed:
		p.to(StateClosed)
	default:
		p.look()
	}
}

func (p *paper) reportTrial(o Outcome) {
	p.inf--
	p.silentSince = p.now
	if o == Ignored {
		return
	}
	if o == Success {
		p.succeededProbes++
	} else {
		p.failedProbes++
	}
	r := p.c.Recovery
	switch {
	case p.succeededProbes == r.Successes:
		p.to(StateClosed)
	case p.failedProbes == r.Probes-r.Successes+1:
		p.reopen()
	default:
		if p.succeededProbes+p.failedProbes > r.Probes-r.Concurrent {
			p.W = max(p.W-1, 1)
		}
		p.look()
	}
}

// look does what is due and sets the timer to the earliest of the instants at
// which something may be.
func (p *paper) look() {
	p.armed = never
	switch p.state {
	case StateOpen:
		if p.now >= p.openUntil {
			p.to(StateHalfOpen)
			return
		}
		p.armed = p.openUntil
	case StateHalfOpen:
		p.lookHalfOpen()
	}
}

func (p *paper) lookHalfOpen() {
	r := p.c.Recovery
	tick := int64((p.now - p.since) / r.Quiet)
	closes, reopens := p.standing()
	if p.ticking && tick > p.ticks { // every QUIET
		switch {
		case reopens:
			p.relapse()
			p.reopen()
			return
		case closes && !p.full:
			p.to(StateClosed)
			return
		}
		if p.inf < p.W {
			p.full = false
		}
	}
	p.ticks = tick
	if p.inf > 0 && p.now >= p.silentSince+r.ProbeTimeout {
		p.abandoned += uint64(p.inf)
		p.relapse()
		p.reopen()
		return
	}
	wait := func() time.Duration { return max(p.silentSince, p.raisedAt) + max(r.Quiet, p.pace) }
	if p.inf >= p.W && p.now >= wait() {
		p.W = max(p.W, p.inf) + 1
		p.raisedAt = p.now
		p.pace = min(2*p.pace, p.c.Cooldown.Max)
	}
	p.ticking = p.inf > 0 || p.full || closes || reopens
	if !p.ticking {
		return
	}
	p.armed = p.since + time.Duration(tick+1)*r.Quiet
	if p.inf > 0 {
		p.armed = min(p.armed, p.silentSince+r.ProbeTimeout)
	}
	if p.now < wait() {
		p.armed = min(p.armed, wait())
	}
}

func (p *paper) advance(d time.Duration) {
	target := p.now + d
	for p.armed <= target {
		p.now = max(p.now, p.armed)
		p.look()
	}
	p.now = target
}

// differs compares a breaker with the paper.
func (p *paper) differs(b *Breaker) error {
	s := b.Snapshot()
	retry := time.Duration(0)
	if p.state == StateOpen {
		retry = max(p.openUntil-p.now, time.Millisecond)
	}
	if p.state == StateHalfOpen && p.inf >= p.W { // full: as long as the last probe took
		retry = max(min(s.LastProbe.Latency, p.c.Recovery.Quiet), time.Millisecond)
		if !s.LastProbe.Settled {
			retry = p.c.Recovery.Quiet
		}
	}
	type shown struct {
		State                                               State
		Generation                                          uint32
		InFlight, Window                                    int
		RetryAfter                                          time.Duration
		Late, Abandoned, Open, HalfOpen, Succ, Fail, Ignore uint64
	}
	is := shown{
		s.State, s.Generation, s.ProbesInFlight, s.ProbeWindow, s.RetryAfter,
		s.Late, s.Abandoned, s.RefusedOpen, s.RefusedHalfOpen, s.Succeeded, s.Failed, s.Ignored,
	}
	want := shown{
		p.state, p.gen, p.inf, p.W, retry,
		p.late, p.abandoned, p.refusedOpen, p.refusedHalfOpen, p.succeeded, p.failed, p.ignored,
	}
	if is != want {
		return fmt.Errorf("at %v\nis  %+v\nnot %+v", p.now, is, want)
	}
	return nil
}

// TestRecoveryIsTheWrittenAlgorithm walks breakers and the paper through the same
// random outages.
func TestRecoveryIsTheWrittenAlgorithm(t *testing.T) {
	for name, c := range map[string]Config{
		"default":            {},
		"quick":              {Recovery: Recovery{Quiet: 300 * time.Millisecond, ProbeTimeout: 2 * time.Second}},
		"strict":             {Recovery: Recovery{ProbeTimeout: 400 * time.Millisecond}},
		"constant cooldown":  {Cooldown: Cooldown{Factor: 1}},
		"doubling cooldown":  {Cooldown: Cooldown{Factor: 2}},
		"low rate":           {FailureRate: 0.1},
		"high rate":          {FailureRate: 1},
		"one probe":          {Recovery: Recovery{Probes: 1}},
		"three in a row":     {Recovery: Recovery{Probes: 3, Concurrent: 1}},
		"five of ten":        {Recovery: Recovery{Probes: 10, Successes: 5}},
		"six of ten, two up": {Recovery: Recovery{Probes: 10, Successes: 6, Concurrent: 2, ProbeTimeout: 5 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			c.ConsecutiveFailures = 1
			c.Cooldown.Jitter = Off
			seen := make(map[string]int)
			for seed := range seeds(300) {
				if err := walk(c, seed, seen); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			for _, event := range []string{"closed", "open", "half-open", "late", "given up"} {
				require.Positive(t, seen[event], "never %s", event)
			}
			if c.Recovery.Probes == 0 && c.Recovery.ProbeTimeout != 400*time.Millisecond {
				for _, event := range []string{"cut", "cut twice", "grown by slow answers", "raised by silence"} {
					if underRace && event == "cut twice" {
						continue // too rare for the few walks that there is time for
					}
					require.Positive(t, seen[event], "never %s", event)
				}
			}
		})
	}
}

// walk makes 400 random steps and notes what it has seen.
func walk(c Config, seed uint64, seen map[string]int) error {
	type pair struct {
		ticket *Ticket
		paper  paperTicket
	}
	manual := new(clock.Manual)
	c.Clock = manual
	c.Deadline, c.Patience = Off, Off // without the sampler
	b := MustNew(c)
	p := newPaper(c)
	random := rand.New(rand.NewPCG(seed, 1))
	var out []pair
	step := time.Duration(1+random.IntN(400)) * time.Millisecond
	health := random.Float64()
	for range 400 {
		switch n := random.IntN(10); {
		case n < 4:
			ticket, err := b.Acquire()
			onPaper, ok := p.acquire()
			if ok != (err == nil) {
				return fmt.Errorf("at %v admitted %t, not %t", p.now, err == nil, ok)
			}
			if ok {
				out = append(out, pair{&ticket, onPaper})
			}
		case n < 8 && len(out) > 0:
			i := random.IntN(len(out))
			o := Success
			switch x := random.Float64(); {
			case x > 0.9:
				o = Ignored
			case x > health:
				o = Failure
			}
			if random.IntN(3) > 0 { // in order, mostly
				i = 0
			}
			out[i].ticket.Report(o)
			p.report(out[i].paper, o)
			out = append(out[:i], out[i+1:]...)
		default:
			d := time.Duration(random.Int64N(int64(step)))
			switch random.IntN(20) {
			case 0: // a silence
				d *= 30
			case 1: // to the very instant, or past it
				d = p.c.Recovery.ProbeTimeout + d*time.Duration(random.IntN(2))
			}
			manual.Advance(d)
			p.advance(d)
		}
		if random.IntN(40) == 0 {
			health = random.Float64()
		}
		manual.Advance(0)
		seen[b.State().String()]++
		note := func(event string, is bool) {
			if is {
				seen[event]++
			}
		}
		note("late", p.late > 0)
		note("given up", p.abandoned > 0)
		note("cut", p.cut == 1)
		note("cut twice", p.cut == 2)
		note("grown by slow answers", p.credit%8 != 0)
		note("raised by silence", p.raisedAt > 0)
		if err := p.differs(b); err != nil {
			return err
		}
	}
	return nil
}
