package sim

import "time"

// quickAnswer is how long a refused connection or a full queue takes.
const quickAnswer = time.Millisecond

// server is a dependency at work. It goes on working on calls whose client
// has left: it cannot know.
type server struct {
	run     *run
	spec    *Dependency
	phase   Phase
	workers int // of this phase
	arrived int // calls that reached it in this phase
	started int // calls that a worker took on in this phase

	queue []job // waiting, from head on
	head  int
	work  []worker // one per worker of the specification
	idle  []int32  // workers without a job; those above the phase's number rest

	quotaSecond time.Duration
	quotaUsed   int
}

// job is one attempt of one call.
type job struct {
	id      uint64
	call    int32
	stamp   uint32
	attempt uint32
}

type worker struct {
	job   job
	stamp uint32 // of the job, so that the end of a lost one is void
	busy  bool
}

func newServer(r *run, spec *Dependency) *server {
	s := &server{run: r, spec: spec, workers: spec.Workers, work: make([]worker, spec.Workers)}
	for i := spec.Workers - 1; i >= 0; i-- {
		s.idle = append(s.idle, int32(i))
	}
	return s
}

func (s *server) queued() int { return len(s.queue) - s.head }
func (s *server) busy() int   { return len(s.work) - len(s.idle) }

// hasRoom tells whether a call sent now would be served soon.
func (s *server) hasRoom() bool {
	if s.phase.Health != Up || s.phase.Errors >= 1 {
		return false
	}
	if s.spec.Quota > 0 && s.quotaLeft() <= 0 {
		return false
	}
	return s.busy() < s.workers || s.queued() < min(s.spec.Queue, max(1, s.workers/2))
}

func (s *server) quotaLeft() int {
	if second := s.run.now / time.Second; second != s.quotaSecond {
		s.quotaSecond, s.quotaUsed = second, 0
	}
	return s.spec.Quota - s.quotaUsed
}

// accept takes a call in hand, or fails it.
func (s *server) accept(j job) {
	s.arrived++
	switch {
	case s.phase.Health == Dead:
		s.answer(j, quickAnswer, true)
	case s.phase.Health == Hanging, s.arrived <= s.phase.HangFirst:
		// Silence.
	case s.spec.Quota > 0 && s.quotaLeft() <= 0:
		s.answer(j, quickAnswer, true)
	case s.busy() < s.workers:
		s.quotaUsed++
		s.start(j)
	case s.queued() < s.spec.Queue:
		s.quotaUsed++
		s.queue = append(s.queue, j)
	default:
		s.answer(j, quickAnswer, true)
	}
}

// answer sends an answer that no worker had to do with.
func (s *server) answer(j job, after time.Duration, failed bool) {
	s.run.agenda.add(event{at: s.run.now + after, kind: callAnswered, call: j.call, stamp: j.stamp, failed: failed})
	s.run.mayCancel(j, after/2)
}

// start gives a job to a worker; one is idle.
func (s *server) start(j job) {
	s.started++
	i := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	w := &s.work[i]
	w.job, w.busy = j, true
	w.stamp++
	takes := s.serviceTime(j)
	s.run.agenda.add(event{at: s.run.now + takes, kind: workEnds, call: i, stamp: w.stamp})
	s.run.mayCancel(j, takes/2)
}

func (s *server) serviceTime(j job) time.Duration {
	if s.started <= s.phase.FastFirst {
		return s.phase.FastTime
	}
	d := s.run.seed.draw(forService, j.id, uint64(j.attempt))
	takes := s.spec.Latency.draw(&d)
	if s.phase.Slowdown > 1 && s.started < s.phase.Warmup {
		cold := 1 - float64(s.started)/float64(s.phase.Warmup)
		takes = time.Duration(float64(takes) * (1 + float64((s.phase.Slowdown-1)*cold)))
	}
	return takes
}

// ended is the end of a worker's job.
func (s *server) ended(i int32, stamp uint32) {
	w := &s.work[i]
	if !w.busy || w.stamp != stamp {
		return
	}
	j := w.job
	w.busy = false
	s.idle = append(s.idle, i)
	s.takeNext()
	d := s.run.seed.draw(forError, j.id, uint64(j.attempt))
	s.run.answered(j.call, j.stamp, d.chance(s.phase.Errors))
}

// takeNext lets idle workers help themselves to the queue.
func (s *server) takeNext() {
	for s.queued() > 0 && s.busy() < s.workers {
		j := s.queue[s.head]
		s.head++
		if s.head == len(s.queue) {
			s.queue, s.head = s.queue[:0], 0
		} else if s.head > 4096 && s.head > len(s.queue)/2 {
			s.queue = append(s.queue[:0], s.queue[s.head:]...)
			s.head = 0
		}
		s.start(j)
	}
}

// enter begins a phase.
func (s *server) enter(p Phase) {
	if p.Health != Up {
		s.lose(p.Health == Dead)
	}
	s.phase, s.arrived, s.started = p, 0, 0
	s.workers = p.Workers
	if s.workers == 0 {
		s.workers = s.spec.Workers
	}
	s.takeNext()
}

// lose drops every job in hand; the clients are told or are not.
func (s *server) lose(told bool) {
	for i := range s.work {
		if w := &s.work[i]; w.busy {
			w.busy = false
			s.idle = append(s.idle, int32(i))
			s.dropped(w.job, told)
		}
	}
	for _, j := range s.queue[s.head:] {
		s.dropped(j, told)
	}
	s.queue, s.head = s.queue[:0], 0
}

func (s *server) dropped(j job, told bool) {
	if told {
		s.run.agenda.add(event{at: s.run.now + quickAnswer, kind: callAnswered, call: j.call, stamp: j.stamp, failed: true})
	}
}
