package breakerprom

import (
	"slices"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A labelSet is a set of labels that a breaker's series can have: its name and
// at most one of these.
type labelSet int

const (
	plain labelSet = iota
	states
	modes    = states + 3
	outcomes = modes + 4
	refusals = outcomes + 5
	judged   = refusals + 3
	answers  = judged + 5
	allSets  = answers + 3
)

// inOrder are the states as a Registry sorts their texts.
var inOrder = [...]atomicbreaker.State{atomicbreaker.StateClosed, atomicbreaker.StateHalfOpen, atomicbreaker.StateOpen}

// second is the label beside the name. Those that are given together are in
// the order of their values, so that the Registry has nothing to sort.
var second = func() [allSets]*dto.LabelPair {
	var all [allSets]*dto.LabelPair
	put := func(from labelSet, label string, values ...string) {
		for i, v := range values {
			all[from+labelSet(i)] = pair(label, v)
		}
	}
	for i, s := range inOrder {
		put(states+labelSet(i), "state", word(s))
	}
	for m := atomicbreaker.Auto; m <= atomicbreaker.Shadow; m++ {
		put(modes+labelSet(m), "mode", word(m))
	}
	put(outcomes, "outcome", "cancelled", "failure", "ignored", "late", "success")
	put(refusals, "reason", "forced", "half_open", "open")
	put(judged, "outcome", "abandoned", "failure", "ignored", "slow", "success")
	put(answers, "answer", "failed", "granted", "refused")
	return all
}()

// word is the text of a state, mode or reason as a label's value: with
// underscores, as metrics are wont to write it.
func word(v interface{ String() string }) string { return strings.ReplaceAll(v.String(), "-", "_") }

func pair(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// labelSets are the labels of one breaker, made once and never written to.
type labelSets struct {
	name    *dto.LabelPair
	of      [allSets][]*dto.LabelPair
	changes map[kindOfChange][]*dto.LabelPair // made when they are met; a breaker has few
	reasons map[atomicbreaker.Reason][]*dto.LabelPair
	counted time.Time // what created is of
	created *timestamppb.Timestamp
}

// kindOfChange is a kind of change of state.
type kindOfChange struct {
	from, to atomicbreaker.State
	reason   atomicbreaker.Reason
}

// usualKinds are the changes of state that have a series from the start, in the
// order in which a Registry sorts those of one breaker and state.
var usualKinds = [...]kindOfChange{
	{atomicbreaker.StateClosed, atomicbreaker.StateHalfOpen, atomicbreaker.ReasonNearDeadline},
	{atomicbreaker.StateClosed, atomicbreaker.StateOpen, atomicbreaker.ReasonFailureRate},
	{atomicbreaker.StateClosed, atomicbreaker.StateOpen, atomicbreaker.ReasonStreak},
	{atomicbreaker.StateHalfOpen, atomicbreaker.StateOpen, atomicbreaker.ReasonProbeFailed},
	{atomicbreaker.StateHalfOpen, atomicbreaker.StateClosed, atomicbreaker.ReasonRecovered},
	{atomicbreaker.StateOpen, atomicbreaker.StateHalfOpen, atomicbreaker.ReasonCooldown},
}

func newLabelSets(name string) *labelSets {
	s := &labelSets{name: pair("name", name), changes: map[kindOfChange][]*dto.LabelPair{}, reasons: map[atomicbreaker.Reason][]*dto.LabelPair{}}
	for i := range s.of {
		s.of[i] = []*dto.LabelPair{s.name}
		if second[i] != nil {
			s.of[i] = sorted(s.name, second[i])
		}
	}
	return s
}

// with are the labels with one more.
func (s *labelSets) with(label, value string) []*dto.LabelPair {
	return sorted(s.name, pair(label, value))
}

func (s *labelSets) because(r atomicbreaker.Reason) []*dto.LabelPair {
	labels := s.reasons[r]
	if labels == nil {
		labels = s.with("reason", word(r))
		s.reasons[r] = labels
	}
	return labels
}

func (s *labelSets) transition(key kindOfChange) []*dto.LabelPair {
	labels := s.changes[key]
	if labels == nil {
		labels = sorted(pair("from", word(key.from)), s.name, pair("reason", word(key.reason)), pair("to", word(key.to)))
		s.changes[key] = labels
	}
	return labels
}

// since is when the totals began to count, as Prometheus is told.
func (s *labelSets) since(t time.Time) *timestamppb.Timestamp {
	if s.created == nil || !s.counted.Equal(t) {
		s.counted, s.created = t, timestamppb.New(t)
	}
	return s.created
}

func sorted(pairs ...*dto.LabelPair) []*dto.LabelPair {
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return slices.Clip(pairs)
}
