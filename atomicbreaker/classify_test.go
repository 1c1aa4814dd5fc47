package atomicbreaker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// typedNil is an error that is not nil though its value is.
type typedNil struct{}

func (*typedNil) Error() string { return "typed nil" }

// TestClassification is the table of what an error says about health.
func TestClassification(t *testing.T) {
	live := t.Context()
	left, cancel := context.WithCancel(live)
	cancel()
	leftFor, cancelFor := context.WithCancelCause(live)
	cancelFor(errors.New("quota"))
	over, cancelOver := context.WithDeadline(live, time.Now().Add(-time.Hour))
	defer cancelOver()
	overFor, cancelOverFor := context.WithDeadlineCause(live, time.Now().Add(-time.Hour), errors.New("slow"))
	defer cancelOverFor()
	other, _ := opened(t, Config{Name: "other"})
	refusal := error(refused(t, other, ErrOpen))

	var asked error
	var answer Outcome
	classify := func(err error) Outcome { asked = err; return answer }

	for name, x := range map[string]struct {
		ctx  context.Context
		err  error
		want Outcome
		asks bool // whether a Classify of the user's is asked
	}{
		"nil":                          {live, nil, Success, false},
		"nil, cancelled":               {left, nil, Success, false},
		"nil, too late":                {over, nil, Success, false},
		"error":                        {live, errFailed, Failure, true},
		"typed nil":                    {live, (*typedNil)(nil), Failure, true},
		"error, cancelled":             {left, errFailed, Local, false},
		"error, cancelled for a cause": {leftFor, errors.New("quota"), Local, false},
		"error, too late":              {over, errFailed, Failure, false},
		"deadline, too late":           {over, context.DeadlineExceeded, Failure, false},
		"deadline with a cause":        {overFor, errors.New("slow"), Failure, false},
		"cancelled within":             {live, context.Canceled, Failure, true},
		"deadline within":              {live, context.DeadlineExceeded, Failure, true},
		"cancelled both":               {left, context.Canceled, Local, false},
		"a refusal":                    {live, refusal, Ignored, false},
		"a refusal, too late":          {over, refusal, Ignored, false},
		"a refusal, wrapped":           {live, fmt.Errorf("store: %w", refusal), Ignored, false},
		"a refusal among others":       {live, errors.Join(errFailed, refusal), Failure, true},
		"refusals only":                {live, errors.Join(refusal, fmt.Errorf("store: %w", refusal)), Ignored, false},
		"ErrOpen itself":               {live, ErrOpen, Failure, true}, // not a refusal of any breaker
	} {
		t.Run(name, func(t *testing.T) {
			settled := func(c Config) Outcome {
				b, _ := made(t, c)
				require.True(t, admitted(t, b).Done(x.ctx, x.err))
				s := b.Snapshot()
				require.Equal(t, uint64(1), s.Succeeded+s.Failed+s.Ignored)
				return Outcome(s.Failed + 2*s.Ignored + s.Local)
			}
			require.Equal(t, x.want, settled(Config{}), "by default")
			for _, answer = range []Outcome{Success, Failure, Ignored, Local} {
				asked = nil
				got := settled(Config{Classify: classify})
				if !x.asks {
					require.Nil(t, asked)
					require.Equal(t, x.want, got)
					continue
				}
				require.True(t, asked == x.err, "the error goes to Classify unchanged")
				require.Equal(t, answer, got)
			}
			if x.ctx == live { // Done knows no context
				b, _ := made(t, Config{})
				require.True(t, admitted(t, b).Done(context.Background(), x.err))
				s := b.Snapshot()
				require.Equal(t, x.want, Outcome(s.Failed+2*s.Ignored+s.Local))
			}
		})
	}
}

func TestTicketKnowsNoContext(t *testing.T) {
	b, _ := made(t, Config{})
	require.True(t, admitted(t, b).Done(context.Background(), context.Canceled))
	require.Equal(t, uint64(1), b.Snapshot().Failed)
}
