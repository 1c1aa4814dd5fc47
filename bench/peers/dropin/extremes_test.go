package dropin_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
	theirs "github.com/sony/gobreaker/v2"
)

// times are settings of every size: a unit forgotten, none, too much.
var times = []time.Duration{
	0, 1, 10, 100, 1000, time.Millisecond, time.Second, time.Hour, 24 * time.Hour, 1 << 55, math.MaxInt64,
	-1, -time.Hour, math.MinInt64,
}

// bucketsOf is how many buckets a window has, or would have.
func bucketsOf(interval, period time.Duration) time.Duration {
	if interval <= 0 || period <= 0 {
		return 1
	}
	return (interval-1)/period + 1
}

// most is more buckets than the original can move in a test's time.
const most = 1000

// use makes requests, n of them good, then one that fails, and tells what they
// returned and the state. It reports a panic as text.
func use(n int, execute func(error) error, state func() string) (told string) {
	defer func() {
		if e := recover(); e != nil {
			told = fmt.Sprint("panics: ", e)
		}
	}()
	for range n {
		if err := execute(nil); err != nil {
			told += fmt.Sprintf("a good request: %v; ", err)
		}
	}
	return told + fmt.Sprintf("a bad one: %v; state %s", execute(errTest), state())
}

func useOurs(st ours.Settings) (told string) {
	defer func() {
		if e := recover(); e != nil {
			told = fmt.Sprint("refused: ", e)
		}
	}()
	cb := ours.NewCircuitBreaker[int](st)
	return use(20, func(err error) error {
		_, err = cb.Execute(func() (int, error) { return 0, err })
		return err
	}, func() string { return cb.State().String() })
}

func useTheirs(st theirs.Settings) string {
	cb := theirs.NewCircuitBreaker[int](st)
	return use(20, func(err error) error {
		_, err = cb.Execute(func() (int, error) { return 0, err })
		return err
	}, func() string { return cb.State().String() })
}

// compareExtremes has both breakers make some requests on the real clock. Ours
// may refuse a setting when it is made; whatever it takes must work and be over soon.
func compareExtremes(t *testing.T, interval, period, timeout time.Duration, maxRequests uint32) {
	t.Helper()
	settings := fmt.Sprintf("Interval %d, BucketPeriod %d, Timeout %d, MaxRequests %d", interval, period, timeout, maxRequests)
	told := make(chan string, 1)
	go func() {
		told <- useOurs(ours.Settings{
			Interval: interval, BucketPeriod: period, Timeout: timeout, MaxRequests: maxRequests,
			ReadyToTrip: func(ours.Counts) bool { return true },
		})
	}()
	var ours string
	select {
	case ours = <-told:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: 21 requests have taken 20 s", settings)
	}
	buckets := bucketsOf(interval, period)
	if strings.HasPrefix(ours, "refused") != (buckets > 1<<17) || strings.HasPrefix(ours, "refused") && !strings.Contains(ours, "BucketPeriod") {
		t.Fatalf("%s: %s", settings, ours)
	}
	if strings.Contains(ours, "good request") {
		t.Fatalf("%s: %s", settings, ours)
	}
	window := max(interval, period)
	switch {
	case interval > 0 && window < time.Minute, timeout > 0 && timeout < time.Minute:
		return // the failure may be of a window that is over, or the breaker half-open by now
	case buckets > most:
		return // the original does not end
	}
	if theirs := useTheirs(theirs.Settings{
		Interval: interval, BucketPeriod: period, Timeout: timeout, MaxRequests: maxRequests,
		ReadyToTrip: func(theirs.Counts) bool { return true },
	}); ours != theirs && !strings.HasPrefix(theirs, "panics") {
		t.Fatalf("%s\n  ours:   %s\n  theirs: %s", settings, ours, theirs)
	}
}

// TestEverySettingWorksOrIsRefusedAtOnce: whatever the original takes, units
// forgotten included, the drop-in goes on as the original does, or refuses it when
// it is made.
//
// Field: S215, trial of the drop-in.
func TestEverySettingWorksOrIsRefusedAtOnce(t *testing.T) {
	for _, interval := range times {
		for _, period := range times {
			for i, timeout := range times {
				compareExtremes(t, interval, period, timeout, []uint32{0, 1, 1024, 1025, math.MaxUint32}[i%5])
			}
		}
	}
}

func FuzzSettings(f *testing.F) {
	f.Add(int64(10), int64(0), int64(0), uint32(0))
	f.Add(int64(10*time.Second), int64(10), int64(60), uint32(1))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64), uint32(math.MaxUint32))
	f.Fuzz(func(t *testing.T, interval, period, timeout int64, maxRequests uint32) {
		compareExtremes(t, time.Duration(interval), time.Duration(period), time.Duration(timeout), maxRequests)
	})
}

// A window shorter than a request has many goroutines move it all the time.
func TestWindowOfNanosecondsHoldsNobodyUp(t *testing.T) {
	for _, st := range []ours.Settings{{Interval: 10}, {Interval: 10, BucketPeriod: 3}, {Interval: 1}, {Interval: 300, BucketPeriod: 1}} {
		cb := ours.NewCircuitBreaker[int](st)
		over := make(chan struct{})
		go func() {
			defer close(over)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 500 {
						if _, err := cb.Execute(func() (int, error) { return 1, nil }); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		}()
		select {
		case <-over:
		case <-time.After(20 * time.Second):
			t.Fatalf("%v, %v: 4000 requests have taken 20 s", st.Interval, st.BucketPeriod)
		}
	}
}
