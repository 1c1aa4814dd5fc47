package main

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/atomicbreaker/breaker/bench/peers"
)

func TestMeasureRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "tails, memory or stress"},
		{[]string{"speed"}, `cannot measure "speed"`},
		{[]string{"tails", "-for", "0s"}, "want more than 0"},
		{[]string{"stress", "-probe-for", "-1s"}, "want more than 0"},
		{[]string{"stress", "now"}, `unexpected argument "now"`},
		{[]string{"memory", "-nonsense"}, "see measure memory -h"},
		{[]string{"memory", "-only", "impl=nobody"}, `no subject "impl=nobody"`},
	} {
		err := run(c.args, new(strings.Builder))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.args, err, c.want)
		}
	}
}

func TestMemoryOfOneSubject(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 100 000 breakers")
	}
	var out strings.Builder
	if err := run([]string{"memory", "-only", "impl=eapache/api=run", "-bench"}, &out); err != nil {
		t.Fatal(err)
	}
	// Its breaker is one object of at most 80 bytes; the runtime's own comings
	// and goings do not show in so many.
	for r := benchfmt.NewReader(strings.NewReader(out.String()), "memory"); r.Scan(); {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok || !strings.Contains(result.Name.String(), "n=100000/use=idle/impl=eapache/api=run") {
			continue
		}
		bytes, _ := result.Value("B/breaker")
		objects, _ := result.Value("objects/breaker")
		if bytes < 50 || bytes > 85 || objects < 0.95 || objects > 1.05 {
			t.Errorf("%g bytes in %g objects", bytes, objects)
		}
		return
	}
	t.Errorf("no such measurement in\n%s", out.String())
}

func TestTailsOfEverySubject(t *testing.T) {
	var out strings.Builder
	err := run([]string{"tails", "-for", "1ms"}, &out)
	if errors.Is(err, peers.ErrNoTSC) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bare loop", "ours acquire", "mutex acquire", "gobreaker execute", "eapache run", "steps of"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing about %q in\n%s", want, out.String())
		}
	}
}
