package drill

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
)

// timeline tells what happens while it happens: a line for each second, and
// one for each event of note between them.
type timeline struct {
	console *frame.Console
	start   time.Time
	rate    float64
	tally   *tally
	breaker *atomicbreaker.Breaker

	mu       sync.Mutex
	seconds  []second
	events   []event
	told     time.Duration // the end of the last second told
	last     counts        // at that instant
	reopened int           // since then
	mended   bool
}

// second is what one second brought. Calls count in the second in which they
// were sent and in the one in which they ended.
type second struct {
	End time.Duration `json:"end_ns"`
	counts
	InFlight int                 `json:"in_flight"` // at its end
	State    atomicbreaker.State `json:"state"`     // at its end
	Window   int                 `json:"window"`    // the probe window, in half-open
	Reopened int                 `json:"reopened"`  // how often probing ended in another cooldown
}

type event struct {
	At   time.Duration `json:"at_ns"`
	What string        `json:"what"`

	transition *atomicbreaker.Transition
}

// barWidth is the length of the bar of a second in which every call of the
// intended rate ended.
const barWidth = 30

func (l *timeline) header() {
	l.console.Printf("%6s %7s %7s %7s %8s %9s  %-9s %7s  %s\n", "second", "sent", "ok", "failed", "refused", "in flight",
		"breaker", "window", "█ ok  x failed  · refused")
}

// follow tells the seconds until ctx ends; what is left then is told by end.
func (l *timeline) follow(ctx context.Context, total time.Duration) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		l.mu.Lock()
		next := l.told + time.Second
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.console.Status("drill: %.0f of %.0f s, breaker %v", time.Since(l.start).Seconds(), total.Seconds(), l.breaker.State())
		case <-time.After(time.Until(l.start.Add(next))):
			l.mu.Lock()
			if next < total {
				l.tellUpTo(next)
			}
			l.mu.Unlock()
		}
	}
}

// end tells the last second, once every call has ended.
func (l *timeline) end(total time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(total)
}

// tellUpTo tells the seconds that are over at an instant and were not told yet.
func (l *timeline) tellUpTo(now time.Duration) {
	for l.told+time.Second <= now {
		l.tell(l.told + time.Second)
	}
}

// tell prints the time since the last line as the second that ends at end.
func (l *timeline) tell(end time.Duration) {
	now := l.tally.counts()
	snapshot := l.breaker.Snapshot()
	s := second{End: end, counts: now.minus(l.last), InFlight: now.inFlight(), State: snapshot.State, Window: snapshot.ProbeWindow, Reopened: l.reopened}
	l.told, l.last, l.reopened = end, now, 0
	l.seconds = append(l.seconds, s)
	window := "-"
	if s.State == atomicbreaker.StateHalfOpen {
		window = frame.Thousands(int64(s.Window))
	}
	note := ""
	if s.Reopened > 0 {
		note = fmt.Sprintf("  probed %s in vain", times(s.Reopened))
	}
	l.console.Printf("%6s %7d %7d %7d %8d %9d  %-9v %7s  %s\n", frame.Number(math.Round(end.Seconds()*10)/10), s.Sent, s.OK, s.Failed, s.Refused,
		s.InFlight, s.State, window, strings.TrimRight(bar(s.counts, l.rate)+note, " "))
}

// happened prints an event of the server.
func (l *timeline) happened(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellUpTo(time.Since(l.start))
	l.add(event{At: time.Since(l.start), What: fmt.Sprintf(format, args...)})
}

// mend marks the end of the outage.
func (l *timeline) mend(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellUpTo(time.Since(l.start))
	l.mended = true
	l.add(event{At: time.Since(l.start), What: what})
}

// transition is the breaker's listener. During the outage the going to and fro
// between open and half-open is only counted.
func (l *timeline) transition(t atomicbreaker.Transition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := event{At: time.Since(l.start), transition: &t}
	l.tellUpTo(e.At)
	switch {
	case t.From == atomicbreaker.StateClosed:
		e.What = fmt.Sprintf("the breaker opens: %s of %s calls failed (%v)", frame.Thousands(int64(t.Counts.Failures)), frame.Thousands(int64(t.Counts.Calls)), t.Reason)
	case t.To == atomicbreaker.StateClosed:
		e.What = fmt.Sprintf("the breaker closes: %s of %s probes were answered", frame.Thousands(int64(t.Counts.Calls-t.Counts.Failures)), frame.Thousands(int64(t.Counts.Calls)))
	case t.To == atomicbreaker.StateHalfOpen && l.mended:
		e.What = "half-open: probes may go, one at first, more with every answer"
	case t.To == atomicbreaker.StateOpen:
		l.reopened++
	}
	l.add(e)
}

// add keeps an event and prints it if there is anything to say.
func (l *timeline) add(e event) {
	l.events = append(l.events, e)
	if e.What != "" {
		l.console.Printf("%9.2f > %s\n", e.At.Seconds(), e.What)
	}
}

// bar draws calls as a line of characters, at least one for each kind.
func bar(c counts, rate float64) string {
	var b strings.Builder
	for _, part := range []struct {
		mark  string
		count int
	}{{"█", c.OK}, {"x", c.Failed}, {"·", c.Refused}} {
		if part.count > 0 {
			length := math.Round(float64(part.count) / rate * barWidth)
			b.WriteString(strings.Repeat(part.mark, int(min(max(length, 1), 2*barWidth))))
		}
	}
	return b.String()
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
