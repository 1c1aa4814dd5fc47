package breakerhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
)

// PoolConfig describes a [Pool]. A field that is zero has its default.
type PoolConfig struct {
	// Backends are the base URLs of the backends, each once:
	// http or https with a host, and neither user, query nor fragment. A path
	// is put before the request's.
	Backends []string

	// Members are further backends, with what else can be said of one.
	// Backends and Members together are at least one.
	Members []Member

	// Breaker is the configuration of each backend's breaker, except for its
	// name, which is Breaker.Name, if set, a space, and the backend's URL.
	// Default of ConsecutiveFailures: 6, as another backend can take over.
	Breaker atomicbreaker.Config

	// Choice is how a backend is chosen. Default: LeastRequest.
	Choice Choice

	// Key, if not nil, names what a request is about, for instance a user or a
	// session: requests of one key go to one backend as long as that takes
	// requests, and otherwise to the key's next one. A change of the members moves only
	// the keys of those that came or went. Processes agree on the backend. An
	// empty key leaves the backend to Choice. It may run concurrently.
	Key func(*http.Request) string

	// Transport is how requests are sent and judged: its Base,
	// FailureStatuses, Classify and JudgeBody hold for every backend. Its
	// other fields must be unset. Default of Base: a copy of
	// http.DefaultTransport for each backend that keeps up to 1024 idle
	// connections, dials for at most 2 s, or half of ResponseTimeout if that
	// is shorter, and takes the answer as it is encoded.
	Transport Transport

	// PreserveHost sends the request's Host header on as it is, in place of the
	// backend's host. Default: false.
	PreserveHost bool

	// Attempts is how many backends a request may reach that may be repeated,
	// 1 to 16. Default: 3.
	Attempts int

	// RetryShare is the largest share of requests, over the last 10 s, that
	// are repeated, above 0 to 1, or Off for none (10 are, whatever the share,
	// while there are few). Repetitions that fail are bounded further: to a 25th
	// of the requests of the last 10 s, and to what successes (RetryShare of
	// each) and time (all of it in 80 s) give back. So an outage of all backends is
	// not made worse. Default: 0.2.
	RetryShare float64

	// ResponseTimeout is how long a backend may take from the start of an
	// exchange to the header of its answer, 1 ms to 24 h, or Off. The time in
	// which the request's own body is waited for is left out. It is a Failure.
	// The error is [ErrResponseTimeout]. Default: 30 s.
	ResponseTimeout time.Duration

	// MaxOpen is the largest share of backends whose breakers may refuse at
	// once, above 0 to 1; it allows at least one. Of those beyond it the least
	// sick go on, each as long as it serves at least one in five of what it
	// gets; their breakers neither see that nor are changed by it, see
	// [Backend.Beyond]. A breaker that an operator holds open
	// stays open. At 1 all may refuse. Default: 0.5.
	MaxOpen float64

	// Outlier is how many times slower than the median of its peers a backend
	// must be to get less, above 1 to 1000, or Off. A backend that fails
	// more often than its peers by over a tenth of its calls gets less too.
	// Default: 3.
	Outlier float64
}

// Member is a backend of a [Pool] and what is said of it.
type Member struct {
	// URL is the base URL, as in [PoolConfig].Backends.
	URL string

	// Weight is its share of the requests in proportion to the others', above
	// 0 to 1000. Default: 1.
	Weight float64

	// Drain keeps new requests away from it. [Backend.InFlight] tells when the
	// last one has ended. Default: false.
	Drain bool

	// Host is the Host header, and with the default transport the name in its
	// certificate, where the URL has an address in place of it. Default: the URL's.
	Host string
}

// Choice is how a [Pool] chooses among the backends that take requests.
type Choice int

const (
	// LeastRequest takes the one with fewer requests in flight, to the end of
	// their bodies, of two that it draws at random. See Mitzenmacher, The Power
	// of Two Choices in Randomized Load Balancing, 2001.
	LeastRequest Choice = iota

	RoundRobin // each in turn
)

// Validate reports every fault of the settings, or nil.
func (c PoolConfig) Validate() error {
	var faults []error
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerhttp: PoolConfig."+format, args...))
	}
	field := "Backends"
	if len(c.Backends) == 0 && len(c.Members) > 0 {
		field = "Members"
	}
	faults = append(faults, memberFaults(field, c.allMembers())...)
	if err := c.Breaker.Validate(); err != nil {
		faults = append(faults, err)
	}
	if c.Choice != RoundRobin && c.Choice != LeastRequest {
		add("Choice is %d, want LeastRequest or RoundRobin", c.Choice)
	}
	if t := c.Transport; t.Breaker != nil || t.BreakerFor != nil || t.Respond503 {
		add("Transport sets Breaker, BreakerFor or Respond503, want none: the pool has a breaker per backend and refuses by error")
	}
	if c.Attempts < 0 || c.Attempts > 16 {
		add("Attempts is %d, want 1 to 16", c.Attempts)
	}
	if s := c.RetryShare; !isOff(s) && !(s >= 0 && s <= 1) {
		add("RetryShare is %v, want above 0 to 1, or Off", s)
	}
	if d := c.ResponseTimeout; !isOff(d) && d != 0 && (d < time.Millisecond || d > 24*time.Hour) {
		add("ResponseTimeout is %v, want 1ms to 24h, or Off", d)
	}
	if _, err := maxopen.Share(c.MaxOpen); err != nil {
		add("MaxOpen %w", err)
	}
	if o := c.Outlier; !isOff(o) && o != 0 && !(o > 1 && o <= 1000) {
		add("Outlier is %v, want above 1 to 1000, or Off", o)
	}
	faults = append(faults, statusFaults("PoolConfig.Transport", c.Transport.FailureStatuses)...)
	return errors.Join(faults...)
}

func (c PoolConfig) allMembers() []Member {
	members := make([]Member, 0, len(c.Backends)+len(c.Members))
	for _, base := range c.Backends {
		members = append(members, Member{URL: base})
	}
	return append(members, c.Members...)
}

func memberFaults(field string, members []Member) (faults []error) {
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerhttp: PoolConfig."+field+format, args...))
	}
	if len(members) == 0 {
		add(" is empty, want at least one URL")
	}
	seen := map[Origin]int{}
	for i, m := range members {
		if !(m.Weight >= 0 && m.Weight <= 1000) {
			add("[%d].Weight is %v, want above 0 to 1000", i, m.Weight)
		}
		base := m.URL
		u, err := url.Parse(base)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			if u != nil {
				base = u.Redacted()
			}
			add("[%d] is %q, want http:// or https:// and a host, without user, query or fragment", i, base)
			continue
		}
		o := OriginOf(u)
		if first, twice := seen[o]; twice {
			add("[%d] is %s, as "+field+"[%d] is, want each once", i, o, first)
			continue
		}
		seen[o] = i
	}
	return faults
}
