package dropin

import (
	"fmt"
	"time"

	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// Every string of bytes is a program: its first headerLen bytes choose the
// settings, one each, and every stepLen bytes after them are a step.
const (
	headerLen = 9
	stepLen   = 2
)

// setup is what the settings of both breakers are made from.
type setup struct {
	twoStep, v1               bool
	maxRequests               uint32
	interval, period, timeout time.Duration
	rule                      string
	ready                     func(ours.Counts) bool
	excludes, forgives        bool
	listens                   bool
}

func (u setup) String() string {
	return fmt.Sprintf("version 1:%v two-step:%v MaxRequests:%d Interval:%v BucketPeriod:%v Timeout:%v ReadyToTrip:%s IsExcluded:%v IsSuccessful:%v",
		u.v1, u.twoStep, u.maxRequests, u.interval, u.period, u.timeout, u.rule, u.excludes, u.forgives)
}

// openFor is how long both breakers stay open: Timeout as ours understands it.
func (u setup) openFor() time.Duration {
	if u.timeout <= 0 {
		return 60 * sec
	}
	return min(max(u.timeout, ms), 24*time.Hour-1)
}

// A rule is a ReadyToTrip.
type rule struct {
	name  string
	ready func(ours.Counts) bool
}

// mixed is a number that any difference in the counts changes.
func mixed(c ours.Counts) (h uint32) {
	for _, n := range []uint32{c.Requests, c.TotalSuccesses, c.TotalFailures, c.TotalExclusions, c.ConsecutiveSuccesses, c.ConsecutiveFailures} {
		h = (h ^ n) * 0x9e3779b1 // 2^32 divided by the golden ratio
		h ^= h >> 15
	}
	return h
}

var rules = []rule{
	{"default", nil},
	{"3 in a row", func(c ours.Counts) bool { return c.ConsecutiveFailures >= 3 }},
	{"60% of 3, excluded ones left out", func(c ours.Counts) bool {
		n := c.Requests - c.TotalExclusions
		return n >= 3 && float64(c.TotalFailures)/float64(n) >= 0.6
	}},
	{"half of 10", func(c ours.Counts) bool { return c.Requests >= 10 && 2*c.TotalFailures >= c.Requests }},
	{"4 in all", func(c ours.Counts) bool { return c.TotalFailures >= 4 }},
	{"first", func(ours.Counts) bool { return true }},
	{"never", func(ours.Counts) bool { return false }},
	{"failures after 5 successes in all", func(c ours.Counts) bool { return c.TotalSuccesses >= 5 }},
	{"one in eight, by all the numbers", func(c ours.Counts) bool { return mixed(c)%8 == 0 }},
}

const (
	ms  = time.Millisecond
	sec = time.Second
)

// settings reads the header. The first of every list is the default.
func settings(header []byte) setup {
	at := func(i int) int {
		if i < len(header) {
			return int(header[i])
		}
		return 0
	}
	r := rules[at(5)%len(rules)]
	windows := []struct{ interval, period time.Duration }{
		{0, 0}, {10 * sec, 0}, {10 * sec, sec}, {100 * ms, 0}, {30 * sec, 3 * sec}, {-1, sec}, {10 * ms, ms},
		{10 * sec, 3 * sec}, {sec, 10 * sec}, {sec, sec}, {sec + 3, sec}, {2 * sec, sec}, {time.Hour, time.Minute},
		{7, 3}, {5 * sec, -1}, {60 * sec, 700 * ms},
	}
	w := windows[at(2)%len(windows)]
	return setup{
		twoStep:     at(0)%2 == 1,
		maxRequests: []uint32{0, 1, 2, 3, 5, 10, 2000}[at(1)%7],
		interval:    w.interval, period: w.period,
		timeout: []time.Duration{0, 5 * sec, 100 * ms, ms, -1, 90 * sec, 1, 24 * time.Hour, 1 << 60, 10 * ms, 3*sec + 1}[at(3)%11],
		rule:    r.name, ready: r.ready,
		excludes: at(6)%4 > 0, forgives: at(7)%2 == 1,
		listens: at(8)%8 > 0,
	}
}

// ending is how a request ends.
type ending int

const (
	succeeds ending = iota
	fails
	excluded
	benign
	panics
	goexits
)

// endings by what a byte picks: failures and successes most.
var endings = []ending{
	succeeds, fails, fails, succeeds, excluded, fails, succeeds, benign, fails, succeeds, excluded, fails, panics, succeeds, fails, goexits,
}

func (e ending) String() string {
	return [...]string{"succeeds", "fails", "is excluded", "fails benignly", "panics", "ends its goroutine"}[e]
}

// err is what the request returns, if it does.
func (e ending) err() error {
	return [...]error{nil, errFailed, errExcluded, errBenign, nil, errGoexit}[e]
}

type kind int

const (
	execute  kind = iota // one request
	burst                // several, one after the other
	around               // one request, with the next steps inside
	allow                // begin one in two steps
	done                 // end one of them, in any state
	again                // end one a second time
	askState             //
	pass                 // let some time pass
	reach                // let time pass to an instant at which something is due
)

// kinds by what a byte picks.
var kinds = []kind{
	execute, execute, burst, allow, done, pass, reach, askState, execute, burst, around, allow, done, done, pass, again, reach, allow, around, burst,
}

// step is one operation.
type step struct {
	kind kind
	how  ending
	n    int // times, steps inside, which
}

func (s step) String() string {
	switch s.kind {
	case execute:
		return "a request " + s.how.String()
	case burst:
		return fmt.Sprintf("%d times: a request %v", s.times(), s.how)
	case around:
		return fmt.Sprintf("around %d steps: a request %v", s.times(), s.how)
	case allow:
		return "allow"
	case done:
		return fmt.Sprintf("request %d from the last %v", s.n, s.how)
	case again:
		return fmt.Sprintf("request %d from the last %v, if it has ended already", s.n, s.how)
	case askState:
		return "state"
	case pass:
		return fmt.Sprintf("time passes (%d)", s.n)
	}
	return fmt.Sprintf("time passes to an edge (%d)", s.n)
}

func (s step) times() int { return s.n%6 + 1 }

func decode(program []byte) (steps []step) {
	for ; len(program) >= stepLen; program = program[stepLen:] {
		steps = append(steps, step{
			kind: kinds[int(program[0])%len(kinds)],
			how:  endings[int(program[1])%len(endings)],
			n:    int(program[1]) / len(endings),
		})
	}
	return steps
}
