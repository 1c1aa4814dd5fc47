package atomicbreaker

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atomicbreaker/breaker/clock"
)

func TestConfigAsJSON(t *testing.T) {
	c := Config{
		Name: "db", Window: time.Minute, Buckets: 6, MinimumCalls: 20, FailureRate: 0.25,
		ConsecutiveFailures: Off, SlowCallDuration: 1500 * time.Millisecond, SlowCallRate: Off,
		Deadline: Off, Patience: 2 * time.Hour,
		Cooldown: Cooldown{Min: 500 * time.Millisecond, Max: 90 * time.Second, Factor: 1, Jitter: Off},
		Recovery: Recovery{Probes: 3, Successes: 2, Concurrent: 1, Quiet: time.Second, ProbeTimeout: time.Hour},
		Stripes:  8, Mode: Shadow,
	}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"db","window":"1m","buckets":6,"minimum_calls":20,"failure_rate":0.25,
		"consecutive_failures":"off","slow_call_duration":"1.5s","slow_call_rate":"off","deadline":"off","patience":"2h",
		"cooldown":{"min":"500ms","max":"1m30s","factor":1,"jitter":"off"},
		"recovery":{"probes":3,"successes":2,"concurrent":1,"quiet":"1s","probe_timeout":"1h"},
		"stripes":8,"mode":"shadow"}`, string(text))
	var back Config
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, c, back)

	text, err = json.Marshal(Config{Clock: clock.System(), OnTransition: func(Transition) {}})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(text), "functions and clocks are no data, and defaults are left out")
}

// TestEveryFieldOfConfigIsInItsJSON, but for those that are no data.
func TestEveryFieldOfConfigIsInItsJSON(t *testing.T) {
	var c Config
	pointers := map[uintptr]bool{}
	var note func([]jsonField)
	note = func(fields []jsonField) {
		for _, f := range fields {
			if within, ok := f.to.([]jsonField); ok {
				note(within)
			} else {
				pointers[reflect.ValueOf(f.to).Pointer()] = true
			}
		}
	}
	note(c.jsonFields())
	var look func(reflect.Value)
	look = func(v reflect.Value) {
		for i := range v.NumField() {
			switch field := v.Field(i); field.Kind() {
			case reflect.Func, reflect.Interface:
			case reflect.Struct:
				look(field)
			default:
				require.True(t, pointers[field.Addr().Pointer()], "%s", v.Type().Field(i).Name)
			}
		}
	}
	look(reflect.ValueOf(&c).Elem())
}

func TestConfigFromJSONKeepsWhatIsNotThere(t *testing.T) {
	c := Config{Name: "db", FailureRate: 0.1, Cooldown: Cooldown{Min: time.Second}, Rand: func() float64 { return 0 }}
	require.NoError(t, json.Unmarshal([]byte(`{"cooldown":{"max":"1m"},"failure_rate":-1}`), &c))
	require.Equal(t, Cooldown{Min: time.Second, Max: time.Minute}, c.Cooldown)
	require.Equal(t, "db", c.Name)
	require.EqualValues(t, Off, c.FailureRate)
	require.NotNil(t, c.Rand)
}

func TestConfigFromJSONTellsAllFaultsAndChangesNothing(t *testing.T) {
	c := Config{Name: "db", Window: time.Second}
	err := json.Unmarshal([]byte(`{"name":7,"window":30,"buckets":2.5,"failure_rate":"half","mode":"auot","failurerate":1,
		"cooldown":{"min":"5","maxx":"1s"},"recovery":[],"patience":null}`), &c)
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 10)
	for _, want := range []string{
		`name is 7, want a string`,
		`window is 30, want a duration with its unit, such as "500ms" or "1m30s", or "off"`,
		`failure_rate is "half", want a number, or "off"`,
		`mode is "auot", atomicbreaker: unknown mode "auot", want one of ["auto" "forced-open" "forced-closed" "shadow"]`,
		`unknown key "failurerate", want one of ["name" "window"`,
		`cooldown.min is "5", want a duration`,
		`unknown key "cooldown.maxx", want one of ["min" "max" "factor" "jitter"]`,
		`recovery is [], want an object`,
		`patience is null, want a value, or leave the key out`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, Config{Name: "db", Window: time.Second}, c)
	require.ErrorContains(t, json.Unmarshal([]byte(`[1]`), &c), "Config as JSON: it is [1], want an object")
}

func FuzzConfigAsJSON(f *testing.F) {
	f.Add([]byte(`{"window":"1m","failure_rate":"off","recovery":{"probes":3},"mode":"shadow"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c, back Config
		if json.Unmarshal(text, &c) != nil {
			require.Equal(t, Config{}, c)
			return
		}
		again, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(again, &back))
		require.Equal(t, c, back)
	})
}
