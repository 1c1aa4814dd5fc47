package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/atomicbreaker/breaker/bench/peers"
	"github.com/atomicbreaker/breaker/bench/peers/internal/summary"
	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// tailed are the subjects whose tails are measured: ours in both forms, our
// twins behind a lock, the breaker most used, the one of the largest library and
// the one that does least.
var tailed = []string{
	"impl=ours/api=acquire", "impl=ours/api=do", "impl=mutex/api=acquire", "impl=rwmutex/api=acquire",
	"impl=gobreaker/api=execute", "impl=failsafe/api=permit", "impl=eapache/api=run",
}

func tails(fs *flag.FlagSet) func(func(*benchfmt.Result)) error {
	runFor := fs.Duration("for", 500*time.Millisecond, "how long each distribution is measured, `duration` above 0")
	return func(emit func(*benchfmt.Result)) error {
		if *runFor <= 0 {
			return fmt.Errorf("-for is %v, want more than 0", *runFor)
		}
		step, err := peers.CounterStep()
		if err != nil {
			return err
		}
		emit(summary.NewResult("Counter", summary.Value(float64(step), "step-ns")))
		for _, row := range []rival.Row{rival.RefusedOpen, rival.ClosedSuccess} {
			for _, g := range []int{16, 256} {
				if err := tailsOf(row, g, *runFor, emit); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func tailsOf(row rival.Row, g int, runFor time.Duration, emit func(*benchfmt.Result)) error {
	one := func(key string, op rival.Call) error {
		t, err := peers.Tails(op, g, runFor)
		if err != nil {
			return err
		}
		ns := func(d time.Duration, unit string) benchfmt.Value { return summary.Value(float64(d), unit) }
		emit(summary.NewResult(fmt.Sprintf("Tails/row=%s/g=%d/%s", row, g, key),
			ns(t.P50, "p50-ns"), ns(t.P99, "p99-ns"), ns(t.P999, "p99.9-ns"), ns(t.P9999, "p99.99-ns"), ns(t.Max, "max-ns"),
			summary.Value(t.OverMicrosecondPerMillion, "over1us-ppm")))
		return nil
	}
	if err := one("impl=bare/api=loop", nil); err != nil {
		return err
	}
	for _, key := range tailed {
		s, err := rival.Find(key)
		if err != nil {
			return err
		}
		p, err := s.Prepare(row)
		if err != nil {
			return err
		}
		err = one(key, p.Op)
		p.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func stress(fs *flag.FlagSet) func(func(*benchfmt.Result)) error {
	atOnce := fs.Duration("for", 15*time.Second, "how long each breaker is pressed with probes that fail at once, `duration` above 0")
	longer := fs.Duration("probe-for", 8*time.Second, "how long with probes of 50 us, `duration` above 0")
	return func(emit func(*benchfmt.Result)) error {
		if *atOnce <= 0 || *longer <= 0 {
			return fmt.Errorf("-for is %v and -probe-for %v, want more than 0", *atOnce, *longer)
		}
		for _, s := range rival.Subjects() {
			for _, c := range []struct{ probe, runFor time.Duration }{{0, *atOnce}, {50 * time.Microsecond, *longer}} {
				r, err := peers.Stress(s, c.runFor, c.probe)
				if errors.Is(err, rival.ErrLacks) {
					continue
				}
				if err != nil {
					return fmt.Errorf("%s: %w", s.Key(), err)
				}
				emit(summary.NewResult(fmt.Sprintf("Stress/probe=%v/for=%v/%s", c.probe, c.runFor, s.Key()),
					summary.Value(float64(r.Probes), "probes"), summary.Value(float64(r.Early), "early"),
					summary.Value(float64(r.Overlapping), "overlapping"), summary.Value(float64(r.Worst), "worst-under-way"),
					summary.Value(float64(r.Shortest), "shortest-gap-ns")))
			}
		}
		return nil
	}
}

// memory measures each subject in a process of its own, because several
// libraries never free a breaker and one heap would tell on the next.
func memory(fs *flag.FlagSet) func(func(*benchfmt.Result)) error {
	only := fs.String("only", "", "measure in this process, and only the subject with this `key`")
	return func(emit func(*benchfmt.Result)) error {
		if *only != "" {
			s, err := rival.Find(*only)
			if err != nil {
				return err
			}
			return memoryOf(s, emit)
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		for _, s := range rival.Subjects() {
			if s.New == nil {
				continue
			}
			child := exec.Command(self, "memory", "-bench", "-only", s.Key())
			child.Stderr = os.Stderr
			lines, err := child.Output()
			if err != nil {
				return fmt.Errorf("memory of %s: %w", s.Key(), err)
			}
			for r := benchfmt.NewReader(bytes.NewReader(lines), s.Key()); r.Scan(); {
				if result, ok := r.Result().(*benchfmt.Result); ok {
					emit(result.Clone())
				}
			}
		}
		return nil
	}
}

func memoryOf(s rival.Subject, emit func(*benchfmt.Result)) error {
	for _, c := range []struct {
		n    int
		uses []peers.Use
	}{
		{1, []peers.Use{peers.Idle, peers.Called}},
		{400, []peers.Use{peers.Contended}}, // enough of them that the goroutines' own memory is lost among theirs
		{1000, []peers.Use{peers.Idle, peers.Called}},
		{100_000, []peers.Use{peers.Idle, peers.Called}},
	} {
		n := c.n
		for _, use := range c.uses {
			f, err := peers.Memory(s, n, use)
			if errors.Is(err, peers.ErrTooLarge) {
				continue
			}
			if err != nil {
				return err
			}
			emit(summary.NewResult(fmt.Sprintf("Memory/n=%d/use=%s/%s", n, use, s.Key()),
				summary.Value(f.Bytes, "B/breaker"), summary.Value(f.Objects, "objects/breaker"),
				summary.Value(f.Goroutines, "goroutines/breaker"), summary.Value(float64(f.GC), "GC-ns")))
		}
	}
	return nil
}
