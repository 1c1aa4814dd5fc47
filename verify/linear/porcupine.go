package linear

import (
	"fmt"
	"hash/maphash"

	"github.com/anishathalye/porcupine"
)

var actionNames = [...]string{
	"admit", "look", "judge", "take", "back", "again", "trip", "reset", "forget", "set", "timer", "move", "timer", "timer",
	"ready", "state", "snapshot", "rest",
}

var answerNames = [...]string{"admitted", "open", "probe limit", "forced"}

var settlingNames = [...]string{"success", "failure", "ignored", "cancel"}

// Model is the sequential breaker for porcupine.
func (r rule) Model() porcupine.Model {
	seed := maphash.MakeSeed()
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any {
			var all []any
			for _, next := range r.step(s.(state), in.(input), out.(output)) {
				all = append(all, next)
			}
			return all
		},
		Hash:              func(s any) uint64 { return maphash.Comparable(seed, s.(state)) },
		DescribeOperation: func(in, out any) string { return describe(in.(input), out.(output)) },
	}
	return m.ToModel()
}

func describe(in input, out output) string {
	text := fmt.Sprintf("%s #%d", actionNames[in.act], in.ticket)
	switch in.act {
	case actAdmit:
		return text + ": " + answerNames[out.answer]
	case actLook, actJudge, actTake, actBack:
		return text + " " + settlingNames[in.outcome]
	case actSet, actForget:
		return fmt.Sprintf("%s %v", actionNames[in.act], in.mode)
	case actMove:
		return fmt.Sprintf("move %v", in.d)
	case actReady, actAgain:
		return fmt.Sprintf("%s: %v", actionNames[in.act], out.yes)
	case actState:
		return "state: " + out.shown.State.String()
	case actSnapshot, actRest:
		s := out.shown
		return fmt.Sprintf("%s: %v %v gen %d, %d of %d, s %d f %d i %d c %d late %d abandoned %d refused %d %d %d would %d",
			actionNames[in.act], s.State, s.Mode, s.Generation, s.ProbesInFlight, s.ProbeWindow, s.Succeeded, s.Failed,
			s.Ignored, s.Cancelled, s.Late, s.Abandoned, s.RefusedOpen, s.RefusedHalfOpen, s.RefusedForced, s.WouldRefuse)
	}
	return actionNames[in.act]
}
