package atomicbreaker

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestZeroConfigWorksAndMeansTheDefaults(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	_, err := New(Config{})
	require.NoError(t, err)
	c := Config{}.WithDefaults()
	require.NotNil(t, c.Clock)
	require.NotNil(t, c.Rand)
	require.Positive(t, c.Stripes)
	require.Zero(t, c.Stripes&(c.Stripes-1))
	c.Clock, c.Rand, c.Stripes = nil, nil, 0
	require.Equal(t, Config{
		Window: 10 * time.Second, Buckets: 10, MinimumCalls: 10, FailureRate: 0.5, ConsecutiveFailures: 20,
		SlowCallDuration: Off, SlowCallRate: 0.5,
		Cooldown: Cooldown{Min: 500 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.25},
		Recovery: Recovery{Quiet: time.Second, ProbeTimeout: 30 * time.Second},
	}, c)
}

func TestDefaultsFollowWhatIsSet(t *testing.T) {
	require.Equal(t, 20*time.Second, Config{Cooldown: Cooldown{Min: 20 * time.Second}}.WithDefaults().Cooldown.Max)
	require.Equal(t, 5*time.Second, Config{Cooldown: Cooldown{Min: time.Second}}.WithDefaults().Cooldown.Max)
	require.Equal(t, 4, Config{WindowCalls: 4}.WithDefaults().MinimumCalls)
	require.Equal(t, 10, Config{WindowCalls: 400}.WithDefaults().MinimumCalls)
	r := Config{Recovery: Recovery{Probes: 7}}.WithDefaults().Recovery
	require.Equal(t, []int{7, 7, 7}, []int{r.Probes, r.Successes, r.Concurrent})
}

// A limit is a field, what it accepts at its edges, what it refuses just
// beyond them, and the range that the error has to name.
type limit struct {
	field   string
	set     func(*Config, float64)
	good    []float64
	bad     []float64
	inError string
}

func limits() []limit {
	const (
		ns  = 1.0
		us  = 1e3
		ms  = 1e6
		day = 24 * 3600e9
	)
	span := func(field string, set func(*Config, time.Duration), low float64, off bool, text string) limit {
		l := limit{field, func(c *Config, v float64) { set(c, time.Duration(v)) }, []float64{0, low, day}, []float64{low - ns, day + ms, -2, math.MinInt64}, text}
		if off {
			l.good = append(l.good, Off)
		} else {
			l.bad = append(l.bad, Off)
		}
		return l
	}
	count := func(field string, set func(*Config, int), most int, off bool, text string) limit {
		l := limit{field, func(c *Config, v float64) { set(c, int(v)) }, []float64{0, 1, float64(most)}, []float64{float64(most + 1), -2, math.MinInt32}, text}
		if off {
			l.good = append(l.good, Off)
		} else {
			l.bad = append(l.bad, Off)
		}
		return l
	}
	rate := func(field string, set func(*Config, float64)) limit {
		return limit{field, set, []float64{0, 1e-300, 0.5, 1, Off},
			[]float64{-0.5, -2, math.Nextafter(1, 2), 100, math.NaN(), math.Inf(1), math.Inf(-1), math.Nextafter(-1, 0)}, "want above 0 to 1, or Off"}
	}
	return []limit{
		span("Window", func(c *Config, d time.Duration) { c.Window, c.Buckets = d, 1 }, ms, false, "want 1ms to 24h0m0s"),
		count("Buckets", func(c *Config, n int) { c.Buckets, c.Window = n, time.Duration(max(n, 0))*time.Millisecond }, 128, false, "want 1 to 128"),
		count("WindowCalls", func(c *Config, n int) { c.WindowCalls = n }, 1024, false, "want 1 to 1024"),
		count("MinimumCalls", func(c *Config, n int) { c.MinimumCalls = n }, 1_000_000_000, false, "want 1 to 1000000000"),
		rate("FailureRate", func(c *Config, v float64) { c.FailureRate = v }),
		count("ConsecutiveFailures", func(c *Config, n int) { c.ConsecutiveFailures = n }, 1_000_000, true, "want 1 to 1000000, or Off"),
		span("SlowCallDuration", func(c *Config, d time.Duration) { c.SlowCallDuration = d }, us, true, "want 1µs to 24h0m0s, or Off"),
		rate("SlowCallRate", func(c *Config, v float64) { c.SlowCallRate, c.SlowCallDuration = v, time.Second }),
		span("Deadline", func(c *Config, d time.Duration) { c.Deadline = d }, ms, true, "want 1ms to 24h0m0s, or Off"),
		span("Patience", func(c *Config, d time.Duration) { c.Patience = d }, us, true, "want 1µs to 24h0m0s, or Off"),
		span("Cooldown.Min", func(c *Config, d time.Duration) { c.Cooldown.Min = d }, ms, false, "want 1ms to 24h0m0s"),
		span("Cooldown.Max", func(c *Config, d time.Duration) { c.Cooldown.Max, c.Cooldown.Min = d, time.Millisecond }, ms, false, "want 1ms to 24h0m0s"),
		{"Cooldown.Factor", func(c *Config, v float64) { c.Cooldown.Factor = v }, []float64{0, 1, 1.5, 16},
			[]float64{0.5, 0.999, 16.01, -1, math.NaN(), math.Inf(1), math.Inf(-1)}, "want 0, or 1 to 16"},
		{"Cooldown.Jitter", func(c *Config, v float64) { c.Cooldown.Jitter = v }, []float64{0, 1e-300, 0.5, math.Nextafter(1, 0), Off},
			[]float64{1, 1.5, -0.5, -2, math.NaN(), math.Inf(1), math.Inf(-1)}, "want above 0 and below 1, or Off"},
		count("Recovery.Probes", func(c *Config, n int) { c.Recovery.Probes = n }, 1024, false, "want 1 to 1024"),
		count("Recovery.Successes", func(c *Config, n int) { c.Recovery.Successes, c.Recovery.Probes = n, min(max(n, 0), 1024) }, 1024, false, "want 1 to 1024"),
		count("Recovery.Concurrent", func(c *Config, n int) { c.Recovery.Concurrent, c.Recovery.Probes = n, min(max(n, 0), 1024) }, 1024, false, "want 1 to 1024"),
		span("Recovery.Quiet", func(c *Config, d time.Duration) { c.Recovery.Quiet = d }, ms, false, "want 1ms to 24h0m0s"),
		span("Recovery.ProbeTimeout", func(c *Config, d time.Duration) { c.Recovery.ProbeTimeout = d }, ms, false, "want 1ms to 24h0m0s"),
		{"Stripes", func(c *Config, v float64) { c.Stripes = int(v) }, []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, []float64{-1, -4, 257, 512}, "want 1 to 256"},
		{"Mode", func(c *Config, v float64) { c.Mode = Mode(v) }, []float64{0, 1, 2, 3}, []float64{4, 255}, "want Auto, ForcedOpen, ForcedClosed or Shadow"},
	}
}

func TestEveryFieldHasItsRange(t *testing.T) {
	for _, l := range limits() {
		for _, v := range l.good {
			var c Config
			l.set(&c, v)
			b, err := New(c)
			require.NoError(t, err, "%s of %v", l.field, v)
			require.NotNil(t, b)
		}
		for _, v := range l.bad {
			var c Config
			l.set(&c, v)
			b, err := New(c)
			require.Error(t, err, "%s of %v", l.field, v)
			require.Nil(t, b)
			require.Equal(t, err.Error(), c.Validate().Error())
			require.Contains(t, err.Error(), "Config."+l.field+" is ", "%v", v)
			require.Contains(t, err.Error(), l.inError, "%s of %v", l.field, v)
			require.Panics(t, func() { MustNew(c) })
		}
	}
	for _, n := range []int{3, 6, 12, 100, 255} {
		require.ErrorContains(t, Config{Stripes: n}.Validate(), "want a power of two")
	}
}

// TestEveryNumberOfAConfigIsInTheTableOfLimits: a field that is added to Config and not to the table above
// is noticed here.
func TestEveryNumberOfAConfigIsInTheTableOfLimits(t *testing.T) {
	covered := make(map[string]bool)
	for _, l := range limits() {
		covered[l.field] = true
	}
	var walk func(prefix string, typ reflect.Type)
	walk = func(prefix string, typ reflect.Type) {
		for field := range typ.Fields() {
			switch field.Type.Kind() {
			case reflect.Struct:
				walk(prefix+field.Name+".", field.Type)
			case reflect.Func, reflect.Interface, reflect.String:
			default:
				require.True(t, covered[prefix+field.Name], prefix+field.Name)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
}

func TestName(t *testing.T) {
	for _, good := range []string{"", "payments", strings.Repeat("é", 128), "a b/c:80", "日本"} {
		require.NoError(t, Config{Name: good}.Validate())
		require.Equal(t, good, MustNew(Config{Name: good}).Name())
	}
	for bad, text := range map[string]string{
		strings.Repeat("x", 257): "Config.Name is 257 bytes long, want at most 256",
		"a\xffb":                 `Config.Name is "a\xffb", want valid UTF-8`,
		"a\nb":                   `Config.Name is "a\nb", want no control characters`,
		"a\x00":                  `Config.Name is "a\x00", want no control characters`,
		"a\x7f":                  `Config.Name is "a\x7f", want no control characters`,
		"a\u0085":                `Config.Name is "a\u0085", want no control characters`,
	} {
		require.ErrorContains(t, Config{Name: bad}.Validate(), text)
	}
}

func TestConflictsAreNamed(t *testing.T) {
	for text, c := range map[string]Config{
		"no rule could ever trip, want at least one":                                                                                                   {FailureRate: Off, ConsecutiveFailures: Off},
		"no rule could ever trip":                                                                                                                      {FailureRate: Off, ConsecutiveFailures: Off, SlowCallDuration: time.Second, SlowCallRate: Off},
		"SlowCallRate is 0.3 but SlowCallDuration is Off, want both or neither":                                                                        {SlowCallRate: 0.3},
		"WindowCalls is 5 with Window 1s and Buckets 0: want a window of calls or of time, not both":                                                   {WindowCalls: 5, Window: time.Second},
		"WindowCalls is 5 with Window 0s and Buckets 3: want a window of calls or of time, not both":                                                   {WindowCalls: 5, Buckets: 3},
		"MinimumCalls is 6 and WindowCalls 5: want MinimumCalls at most WindowCalls":                                                                   {WindowCalls: 5, MinimumCalls: 6},
		"Window is 1s with Buckets 3, want a bucket of a whole number of milliseconds, at least 1":                                                     {Window: time.Second, Buckets: 3},
		"Window is 10s with Buckets 128, want a bucket of a whole number of milliseconds":                                                              {Buckets: 128},
		"Window is 5ms with Buckets 10, want a bucket of a whole number of milliseconds":                                                               {Window: 5 * time.Millisecond},
		"Window is 1.0000001s with Buckets 1, want a bucket of a whole number of milliseconds":                                                         {Window: time.Second + 100, Buckets: 1},
		"Cooldown.Min is 2s and Cooldown.Max 1s, want Min at most Max":                                                                                 {Cooldown: Cooldown{Min: 2 * time.Second, Max: time.Second}},
		"Cooldown.Max is 100ms and Cooldown.Min the default of 500ms, want Min at most Max":                                                            {Cooldown: Cooldown{Max: 100 * time.Millisecond}},
		"Recovery.Successes is 4 and Recovery.Concurrent 0 with Recovery.Probes 3, want both at most Probes":                                           {Recovery: Recovery{Probes: 3, Successes: 4}},
		"Recovery.Successes is 0 and Recovery.Concurrent 4 with Recovery.Probes 3, want both at most Probes":                                           {Recovery: Recovery{Probes: 3, Concurrent: 4}},
		"Recovery.Successes is 1 and Recovery.Concurrent 0 without Recovery.Probes: they are of the classic rule, want Probes too, or neither of them": {Recovery: Recovery{Successes: 1}},
	} {
		require.ErrorContains(t, c.Validate(), text)
		require.Len(t, strings.Split(c.Validate().Error(), "\n"), 1, "one fault, one line")
	}
	for _, c := range []Config{ // what looks like a conflict and is none
		{FailureRate: Off, ConsecutiveFailures: Off, ReadyToTrip: func(Counts) bool { return false }},
		{FailureRate: Off, ConsecutiveFailures: Off, SlowCallDuration: time.Second},
		{FailureRate: Off, ConsecutiveFailures: 3},
		{SlowCallRate: Off},
		{WindowCalls: 5, MinimumCalls: 5},
		{Cooldown: Cooldown{Min: time.Second, Max: time.Second}},
		{Recovery: Recovery{ProbeTimeout: time.Millisecond}},
		{MinimumCalls: 1_000_000_000}, // a rate too low for the minimum
	} {
		require.NoError(t, c.Validate())
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	c := Config{
		Name: "a\n", Window: 1, Buckets: 129, WindowCalls: 1025, MinimumCalls: -1, FailureRate: math.NaN(), ConsecutiveFailures: -2,
		SlowCallDuration: 1, SlowCallRate: 2, Cooldown: Cooldown{Min: -1, Max: 1, Factor: 0.5, Jitter: 1},
		Recovery: Recovery{Probes: -1, Successes: 1025, Concurrent: -3, Quiet: 1, ProbeTimeout: -5}, Stripes: 300, Mode: 9,
	}
	err := c.Validate()
	require.Error(t, err)
	for _, field := range []string{
		"Name", "Window", "Buckets", "WindowCalls", "MinimumCalls", "FailureRate", "ConsecutiveFailures", "SlowCallDuration", "SlowCallRate",
		"Cooldown.Min", "Cooldown.Max", "Cooldown.Factor", "Cooldown.Jitter", "Recovery.Probes", "Recovery.Successes", "Recovery.Concurrent",
		"Recovery.Quiet", "Recovery.ProbeTimeout", "Stripes", "Mode",
	} {
		require.Contains(t, err.Error(), "atomicbreaker: Config."+field+" is ")
	}
	for line := range strings.Lines(err.Error()) {
		require.Contains(t, line, "want ", "no range")
	}
	before := c
	_, _ = New(c)
	require.Equal(t, before.Window, c.Window, "nothing is corrected")
}

func TestFaultsSayWhatMayHaveBeenMeant(t *testing.T) {
	require.ErrorContains(t, Config{FailureRate: 50}.Validate(), "FailureRate is 50, want above 0 to 1, or Off; it is a share, not per cent")
	require.ErrorContains(t, Config{Window: 30}.Validate(), "Window is 30ns, want 1ms to 24h0m0s; is the unit missing? 30*time.Millisecond")
	for _, c := range []Config{{FailureRate: -0.5}, {Window: -3}, {Window: 25 * time.Hour}} {
		require.Error(t, c.Validate())
		require.NotContains(t, c.Validate().Error(), "per cent")
		require.NotContains(t, c.Validate().Error(), "unit")
	}
}
