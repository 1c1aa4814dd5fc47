package sim

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// try asks the breaker for a call and sends it if it may go.
func (r *run) try(index int32) {
	c := &r.calls[index]
	g := &r.guards[c.guard]
	c.attempt++
	r.books.now().Tries++
	ticket, ok := Ticket(nil), true
	if r.sc.Traffic.AskReady {
		ok = g.policy.Ready()
	}
	if ok {
		ticket, ok = g.policy.Acquire()
	}
	r.watch(g)
	if !ok {
		r.note(c, "refused")
		r.books.refused(r.server.hasRoom())
		r.goneWrong(index)
		return
	}
	c.ticket = ticket
	c.probe = g.state == atomicbreaker.StateHalfOpen
	c.stamp++
	r.note(c, "sent")
	r.books.sent(r.now)
	if t := r.sc.Traffic.Timeout; t > 0 {
		r.agenda.add(event{at: r.now + t, kind: callTimesOut, call: index, stamp: c.stamp})
	}
	r.server.accept(job{id: c.id, call: index, stamp: c.stamp, attempt: c.attempt})
}

// answered brings an answer to a call, if it still waits for it.
func (r *run) answered(index int32, stamp uint32, failed bool) {
	if r.calls[index].stamp != stamp {
		return
	}
	if failed {
		r.settle(index, atomicbreaker.Failure)
	} else {
		r.settle(index, atomicbreaker.Success)
	}
}

// settle ends an attempt that was sent.
func (r *run) settle(index int32, o atomicbreaker.Outcome) {
	c := &r.calls[index]
	g := &r.guards[c.guard]
	c.stamp++
	r.note(c, o.String())
	g.policy.Settle(c.ticket, o)
	c.ticket = nil
	r.books.settled(o, r.now)
	r.watch(g)
	if o == atomicbreaker.Failure {
		if c.probe && r.now < r.sc.Incident.To {
			r.books.failedProbes++
		}
		r.goneWrong(index)
	} else {
		r.over(index)
	}
}

// goneWrong is what a caller does after a refusal or a failure.
func (r *run) goneWrong(index int32) {
	c := &r.calls[index]
	retry := &r.sc.Traffic.Retry
	if c.looping || retry.Attempts > 0 && int(c.attempt) >= retry.Attempts {
		r.books.now().Lost++
		r.over(index)
		return
	}
	if !c.behind {
		c.behind = true
		r.books.behind++
	}
	d := r.seed.draw(forRetry, c.id, uint64(c.attempt))
	r.agenda.add(event{at: r.now + retry.wait(&d, c.attempt), kind: callTries, call: index})
}

// over ends a call, whatever came of it.
func (r *run) over(index int32) {
	c := &r.calls[index]
	if c.behind {
		r.books.behind--
	}
	if c.looping {
		r.renew(c)
		r.think(index, r.now)
		return
	}
	c.stamp++
	r.free = append(r.free, index)
}

// mayCancel decides whether the caller of a job will lose interest in it.
func (r *run) mayCancel(j job, after time.Duration) {
	if r.sc.Traffic.Cancel == 0 {
		return
	}
	d := r.seed.draw(forCancel, j.id, uint64(j.attempt))
	if d.chance(r.sc.Traffic.Cancel) {
		r.agenda.add(event{at: r.now + after, kind: callCancels, call: j.call, stamp: j.stamp})
	}
}

// watch looks at a breaker after something was done with it.
func (r *run) watch(g *guard) {
	if g.teller == nil {
		return
	}
	state := g.teller.State()
	if state == g.state {
		return
	}
	r.books.changed(g.state, state, r.now)
	g.state = state
}

// closeSecond closes the books of one second.
func (r *run) closeSecond() {
	s := r.books.now()
	for i := range r.guards {
		g := &r.guards[i]
		r.watch(g)
		switch g.state {
		case atomicbreaker.StateOpen:
			s.Open++
		case atomicbreaker.StateHalfOpen:
			s.HalfOpen++
		}
		if g.window != nil {
			s.Window += g.window.Window()
		}
	}
	s.Behind = r.books.behind
	s.Queue = r.server.queued()
	r.books.nextSecond()
}

// traceLine is one thing that happened, for those who compare runs.
type traceLine struct {
	at      time.Duration
	call    uint64
	attempt uint32
	guard   int32
	what    string
}

func (r *run) note(c *call, what string) {
	if r.trace != nil {
		r.trace(traceLine{r.now, c.id, c.attempt, c.guard, what})
	}
}
