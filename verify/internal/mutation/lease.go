package mutation

// Files of what holds a breaker back, and of the leases above it.
const (
	hold     = "atomicbreaker/hold.go"
	question = "contrib/breakerlease/question.go"
	seat     = "contrib/breakerlease/seat.go"
	holder   = "contrib/breakerlease/holder.go"
	team     = "contrib/breakerlease/team.go"
	fleet    = "contrib/breakerlease/fleet.go"
	listen   = "contrib/breakerlease/listen.go"
)

// leases are the mutations of BeforeProbe and of package breakerlease.
var leases = []Mutation{
	m("hold", "BeforeProbe holds a breaker back for ever", hold,
		"	if now >= limit {\n		return now\n	}", "	limit = never"),
	m("hold", "one wait may be of any length", hold,
		"min(max(wait, minDuration), b.cfg().Cooldown.Max)", "max(wait, minDuration)"),
	m("hold", "BeforeProbe that ends its goroutine ends the worker", hold,
		"			b.running.abandon()\n", ""),
	m("hold", "a panic in BeforeProbe is nobody's business", hold,
		"		b.panics.Add(1)\n		if wait", "		if wait"),
	m("hold", "a late answer ends the cooldown of a later opening", hold,
		" || !any && w.generation() != generation", ""),
	m("hold", "what an earlier opening waited for is shown", timer,
		"			h.until.Store(notHeld)\n", ""),
	m("hold", "the end of a cooldown is the end of the outage", hold,
		"w.to(phaseHalfOpen, b.cfg().recovery.firstWindow()), ReasonEndCooldownCalled", "w.to(phaseClosed, 0), ReasonEndCooldownCalled"),

	m("lease", "a Lease that fails keeps the breaker open", question,
		"		default:\n			return s.goAlone(over)", "		default:\n			return over.Cooldown.Max"),
	m("lease", "an answer is waited for without end", question,
		"			if over.At < q.until {", "			if true {"),
	m("lease", "a grant that comes late is kept", question,
		"	if !q.state.CompareAndSwap(asking, granted) {\n		s.tell(News{Token: token})", "	if !q.state.CompareAndSwap(asking, granted) {"),
	m("lease", "a grant that is overtaken is kept", question,
		"	} else if s.held.CompareAndSwap(g, nil) {\n		s.tell(News{Token: token})", "	} else if s.held.CompareAndSwap(g, nil) {"),
	m("lease", "a grant ends a later cooldown", question,
		"	if b.EndCooldownOf(q.gen) {", "	if b.EndCooldown() {"),
	m("lease", "a refusal is no refusal", question,
		"	if q.state.CompareAndSwap(asking, refused) {", "	if q.state.CompareAndSwap(asking, failed) {"),
	m("lease", "a refused Lease is asked at once", question,
		"		q = s.ask(over, q)\n	}", "		q = s.ask(over, q)\n	case q.state.Load() == refused:\n		q = s.ask(over, q)\n	}"),
	m("lease", "jitter shortens the wait for a lease", question,
		"		wait += time.Duration(", "		wait -= time.Duration("),
	m("lease", "a Lease may keep a breaker from probing for ever", question,
		"over.At >= q.stuck+s.patience(over):", "false:"),
	m("lease", "a fleet that goes on is taken for one that is stuck", question,
		"			q.stuck = now // the fleet goes on", "			_ = now"),
	m("lease", "calls that hang are joined by more", question,
		"	if s.out.Add(1) > maxCalls {", "	if s.out.Add(1) > 1<<20 {"),
	m("lease", "a lease that ended is told of twice", seat,
		"&& s.held.CompareAndSwap(g, nil) {", "{"),
	m("lease", "nobody says that the breaker probes alone", question,
		"		s.fail(fmt.Errorf(", "		_ = (fmt.Errorf("),
	m("lease", "every success is told of", seat,
		"		if !g.told.Load() && !g.told.Swap(true) {", "		{"),
	m("lease", "one that probes alone tells nobody", seat,
		"			s.tell(News{Alone: true, Verdict: Answered})", "			_ = mark"),
	m("lease", "a breaker that failed alone has recovered", seat,
		"	if t.Reason == atomicbreaker.ReasonRecovered && s.lone", "	if s.lone"),
	m("lease", "a Config for one breaker serves two", seat,
		"		return *of == p", "		return true"),

	m("fleet", "numbers of two epochs are compared", team,
		"m.token.Epoch == last.Epoch && (", "("),
	m("fleet", "a number far ahead makes a process deaf", team,
		"(last.Number == 0 || m.token.Number <= last.Number+maxAhead)", "true"),
	m("fleet", "hints are acted upon as often as they come", team,
		" || now.Sub(t.hinted) < hintEvery", ""),
	m("fleet", "a hint opens a breaker", team,
		"m.verdict() == Reopened || now", "now"),
	m("fleet", "a grant that nobody waits for stays out", holder,
		"if !waits.CompareAndSwap(0, 1) && a.Granted {", "if !waits.CompareAndSwap(0, 1) && false {"),
	m("fleet", "a lease may be as long as it likes", holder,
		"Limit: max(maxLife*ttl, q.Cooldown.Max),", "Limit: 1<<62,"),
	m("fleet", "a lease is renewed without a probe", holder,
		"status.Held && !s.Unprobed", "status.Held"),
	m("fleet", "Close waits for a store that stands still", fleet,
		"	case <-time.After(2 * f.timeout()):\n", ""),
	m("fleet", "nobody waits for a store that is far away", fleet,
		"max(minTimeout, 3*time.Duration(f.trip.Load()))", "minTimeout"),
	m("fleet", "members may disagree on the TTL", listen,
		"	if m.ttl != f.o.TTL {", "	if false {"),
}
