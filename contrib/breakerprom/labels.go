package breakerprom

import (
	"slices"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	dto "github.com/prometheus/client_model/go"
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
	name *dto.LabelPair
	of   [allSets][]*dto.LabelPair
}

func newLabelSets(name string) *labelSets {
	s := &labelSets{name: pair("name", name)}
	for i := range s.of {
		s.of[i] = []*dto.LabelPair{s.name}
		if second[i] != nil {
			s.of[i] = sorted(s.name, second[i])
		}
	}
	return s
}

func sorted(pairs ...*dto.LabelPair) []*dto.LabelPair {
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return slices.Clip(pairs)
}
