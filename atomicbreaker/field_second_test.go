package atomicbreaker_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
)

// A key with few calls opens after five failures in a row, however far apart they are, and
// the advice says that its rates can never trip. A limit that is set stays exact.
//
// Field: S205, blockful/anticapture#2148 (2026-09-09).
func TestFieldFewCallsOpenByTheStreak(t *testing.T) {
	for limit, c := range map[int]ab.Config{5: {}, 20: {ConsecutiveFailures: 20}} {
		p := examine(t, c)
		for n := range limit {
			p.is(ab.StateClosed)
			p.at(float64(30 * (n + 1)))
			p.call(ab.Failure)
			p.clock.Advance(0)
		}
		p.is(ab.StateOpen)
		p.story("open(streak)")
	}
	advice := breakeradvice.Find(ab.Config{}, breakeradvice.Usage{Rate: 1.0 / 30})
	if !slices.ContainsFunc(advice, func(f breakeradvice.Finding) bool { return f.Name == "minimum-out-of-reach" }) {
		t.Errorf("the advice is %v, want a word on the minimum", advice)
	}
}

// Probes that never left this process say nothing about the dependency: the
// breaker goes on probing, and the first that arrive decide.
//
// Field: S208, bagowix/interlock#194 (2026-09-01); redis/go-redis#3951 (2026-08-06).
func TestFieldProbesThatNeverLeftDecideNothing(t *testing.T) {
	for name, c := range map[string]ab.Config{"window": {}, "one probe": streakConfig()} {
		t.Run(name, func(t *testing.T) {
			p := examine(t, c)
			p.trip()
			p.clock.Advance(p.RetryAfter())
			p.is(ab.StateHalfOpen)
			for range 6000 {
				p.call(ab.Ignored) // is admitted at once, each time
				p.clock.Advance(10 * time.Millisecond)
				p.is(ab.StateHalfOpen)
			}
			if told := p.events(); len(told) != 2 {
				t.Errorf("told %d changes, want the opening and its end", len(told))
			}
			for n := 0; p.State() != ab.StateClosed; n++ {
				if n == 1000 {
					t.Fatal("not closed after 10 s of successes")
				}
				p.call(ab.Success)
				p.clock.Advance(10 * time.Millisecond)
			}
		})
	}
}

// A dependency that hangs costs few calls, though each of them takes as long
// as its caller is patient.
//
// Field: S209, safe-global/safe-client-gateway#3442 (2026-09-17).
func TestFieldHangIsProbedByFew(t *testing.T) {
	const patience, every, length = 30 * time.Second, 10 * time.Millisecond, 10 * time.Minute
	p := examine(t, ab.Config{})
	p.Trip()
	p.clock.Advance(p.RetryAfter())
	type sent struct {
		*ab.Ticket
		until time.Duration
	}
	var out []sent
	var all int
	for range length / every {
		for len(out) > 0 && out[0].until <= p.clock.Now() {
			out[0].Report(ab.Failure)
			out = out[1:]
		}
		if ticket, err := p.Acquire(); err == nil {
			out = append(out, sent{&ticket, p.clock.Now() + patience})
			all++
		}
		p.clock.Advance(every)
	}
	if all == 0 || all > 300 {
		t.Errorf("%d of %d calls were sent to a dependency that hangs, want 1 to 300", all, length/every)
	}
	if p.State() == ab.StateClosed {
		t.Error("closed by a dependency that hangs")
	}
}

// A duration that lacks its unit is refused, with the field, what it is and
// what it may be; or else it is one that works.
//
// Field: S215, trial of the drop-in.
func TestFieldDurationsWithoutTheirUnit(t *testing.T) {
	spans := func(v reflect.Value, f func(name string, d reflect.Value)) {
		var walk func(prefix string, v reflect.Value)
		walk = func(prefix string, v reflect.Value) {
			for i := range v.NumField() {
				name, field := prefix+v.Type().Field(i).Name, v.Field(i)
				switch {
				case field.Type() == reflect.TypeFor[time.Duration]():
					f(name, field)
				case field.Kind() == reflect.Struct:
					walk(name+".", field)
				}
			}
		}
		walk("", v)
	}
	var tried int
	for _, d := range []time.Duration{1, 10, 100, time.Microsecond} {
		var names []string
		spans(reflect.ValueOf(new(ab.GroupConfig[string])).Elem(), func(name string, _ reflect.Value) { names = append(names, name) })
		for _, name := range names {
			var c ab.GroupConfig[string]
			spans(reflect.ValueOf(&c).Elem(), func(n string, v reflect.Value) {
				if n == name {
					v.SetInt(int64(d))
				}
			})
			tried++
			err := c.Validate()
			if err == nil {
				t.Logf("%s %v is accepted", name, d)
				p := examine(t, c.Config)
				within(t, func() { p.calls(100, ab.Success) })
				p.is(ab.StateClosed)
				continue
			}
			for _, text := range []string{name[strings.LastIndex(name, ".")+1:], fmt.Sprintf("is %v", d), "want "} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s %v: the error is %q, want %q in it", name, d, err, text)
				}
			}
		}
	}
	if tried < 7*4 {
		t.Errorf("%d durations tried: the walk misses fields", tried)
	}
}
