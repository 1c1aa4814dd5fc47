package breakergrpc

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// named is a child that tells which one it is.
type named struct{ picked *int }

func (n named) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	*n.picked++
	return balancer.PickResult{}, nil
}

// pickerOf makes a picker over n backends by the settings, and counts of picks.
func pickerOf(t *testing.T, c PolicyConfig, n int, m *clock.Manual) (*picker, []int) {
	t.Helper()
	c.Breakers.Config.Clock = m
	s, err := newSettings(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &picker{choice: s.choice, maxOpen: s.maxOpen}
	counts := make([]int, n)
	for i := range n {
		key := Backend{"target", string(rune('a' + i))}
		p.backends = append(p.backends, pickable{picker: named{&counts[i]}, breaker: s.breakers.Get(key), past: s.past.Get(key), load: new(load), weight: 1})
	}
	return p, counts
}

// rpc makes one try, of which fails says by backend whether it fails.
func rpc(p *picker, counts []int, fails func(i int) bool) (int, error) {
	before := append([]int(nil), counts...)
	r, err := p.Pick(balancer.PickInfo{})
	if err != nil {
		return -1, err
	}
	for i := range counts {
		if counts[i] == before[i] {
			continue
		}
		info := balancer.DoneInfo{BytesSent: true, BytesReceived: true}
		if fails(i) {
			info.Err = status.Error(codes.Unavailable, "")
		}
		r.Done(info)
		return i, info.Err
	}
	return -1, errors.New("nobody was picked")
}

// TestDefaultRuleOpensASickBackend: one of three always fails, after and
// without a good past; at one bad call in a hundred none opens.
func TestDefaultRuleOpensASickBackend(t *testing.T) {
	for _, good := range []int{0, 1000, 100_000} {
		m := new(clock.Manual)
		p, counts := pickerOf(t, PolicyConfig{}, 3, m)
		for range good {
			rpc(p, counts, func(int) bool { return false })
			m.Advance(16 * time.Millisecond)
		}
		failed := 0
		for p.backends[0].breaker.State() != atomicbreaker.StateOpen && failed < 100 {
			if _, err := rpc(p, counts, func(i int) bool { return i == 0 }); err != nil {
				failed++
			}
			m.Advance(16 * time.Millisecond)
		}
		if failed > 15 {
			t.Errorf("after %d good calls it opened after %d failed ones, want at most 15", good, failed)
		}
	}
	m := new(clock.Manual)
	p, counts := pickerOf(t, PolicyConfig{}, 3, m)
	dice := rand.New(rand.NewPCG(1, 1))
	for range 2_000_000 {
		rpc(p, counts, func(int) bool { return dice.Float64() < 0.01 })
		m.Advance(time.Millisecond)
	}
	for _, b := range p.backends {
		if n := b.breaker.Snapshot().Opened; n != 0 {
			t.Errorf("opened %d times at one bad call in a hundred", n)
		}
	}
}

// TestAllSickServesWhatIsPossible: four backends that fail 60 % each.
func TestAllSickServesWhatIsPossible(t *testing.T) {
	run := func(maxOpen float64, fails float64) (served int) {
		m := new(clock.Manual)
		c := PolicyConfig{MaxOpen: maxOpen}
		c.Breakers.Config.Cooldown.Min = 2 * time.Second
		p, counts := pickerOf(t, c, 4, m)
		dice := rand.New(rand.NewPCG(2, 2))
		for range 10_000 {
			if _, err := rpc(p, counts, func(int) bool { return dice.Float64() < fails }); err == nil {
				served++
			}
			m.Advance(2 * time.Millisecond)
		}
		return served
	}
	if served := run(0, 0.6); served < 3600 {
		t.Errorf("served %d of 4000 that are possible, want 0.9", served)
	}
	if without := run(1, 0.6); without > 2000 {
		t.Errorf("with MaxOpen 1 it serves %d too: the test tests nothing", without)
	}
	m := new(clock.Manual)
	p, counts := pickerOf(t, PolicyConfig{}, 4, m)
	for range 10_000 {
		rpc(p, counts, func(int) bool { return true })
		m.Advance(2 * time.Millisecond)
	}
	if got := counts[0] + counts[1] + counts[2] + counts[3]; got > 500 {
		t.Errorf("dead backends got %d of 10000 in 20 s, want them throttled", got)
	}
	for _, b := range p.backends {
		b.breaker.SetMode(atomicbreaker.ForcedOpen)
	}
	if _, err := p.Pick(balancer.PickInfo{}); !errors.Is(err, atomicbreaker.ErrForced) {
		t.Errorf("all held open: %v", err)
	}
}

func TestLeastRequestAvoidsTheBusy(t *testing.T) {
	p, counts := pickerOf(t, PolicyConfig{Choice: LeastRequest}, 2, new(clock.Manual))
	p.backends[0].load.add(5)
	for range 100 {
		rpc(p, counts, func(int) bool { return false })
	}
	if counts[0] != 0 {
		t.Errorf("%v, want all at the one with nothing under way", counts)
	}
	p.backends[0].load.add(-5)
	for range 4000 {
		rpc(p, counts, func(int) bool { return false })
	}
	if counts[0] < 1800 || counts[0] > 2200 {
		t.Errorf("%v, want equals to share", counts)
	}
	for i, b := range p.backends {
		if n := b.load.now(); n != 0 {
			t.Errorf("backend %d: %d under way at the end", i, n)
		}
	}
}

func TestWeightsShare(t *testing.T) {
	for _, choice := range []Choice{RoundRobin, LeastRequest} {
		p, counts := pickerOf(t, PolicyConfig{Choice: choice}, 2, new(clock.Manual))
		p.weighted, p.backends[1].weight = true, 3
		for range 4000 {
			rpc(p, counts, func(int) bool { return false })
		}
		if counts[0] > 1200 || choice == RoundRobin && counts[0] != 1000 {
			t.Errorf("choice %d: %v, want a quarter and three", choice, counts)
		}
	}
	e := SetWeight(resolver.Endpoint{}, 2.5)
	if weightOf(e) != 2.5 || weightOf(SetWeight(e, -1)) != 1 || weightOf(resolver.Endpoint{}) != 1 {
		t.Error("weights of endpoints")
	}
}

func TestServiceConfigNamesEveryFault(t *testing.T) {
	p := &Policy{name: "p", others: map[string]*settings{}}
	_, err := p.ParseConfig([]byte(`{"choice":"x","maxOpen":2,"consecutiveFailures":0,"failureRate":7,"cooldownMin":"0s","mode":"y"}`))
	for _, want := range []string{"choice is", "MaxOpen is 2", "consecutiveFailures is 0", "FailureRate is 7", "cooldownMin is 0", `"y"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for text, want := range map[string]string{`{"unknown":1}`: "unknown", `{"quiet":5}`: "no duration", `[`: "service config of p"} {
		if _, err := p.ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", text, err, want)
		}
	}
	if maxopen.Streak > 15 {
		t.Error("the default opens too late")
	}
}
