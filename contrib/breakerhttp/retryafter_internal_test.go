package breakerhttp

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterForms(t *testing.T) {
	date := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return date.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0},
		{"0", 0},
		{"120", 2 * time.Minute},
		{" 120 ", 2 * time.Minute},
		{"-1", 0},
		{"1.5", 0},
		{"1e3", 0},
		{"soon", 0},
		{"86401", maxRetryAfter},
		{"99999999999999999999999", maxRetryAfter},
		{at(90 * time.Second), 90 * time.Second},
		{date.Add(90 * time.Second).Format(time.RFC850), 90 * time.Second},
		{date.Add(90 * time.Second).Format(time.ANSIC), 90 * time.Second},
		{at(-time.Second), 0},
		{at(1000 * time.Hour), maxRetryAfter},
	} {
		h := http.Header{"Date": {at(0)}, "Retry-After": {c.value}}
		if got := retryAfter(h); got != c.want {
			t.Errorf("Retry-After %q: %v, want %v", c.value, got, c.want)
		}
	}
}

func TestRetryAfterDateWithoutServersDate(t *testing.T) {
	h := http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
	if got := retryAfter(h); got < 50*time.Second || got > time.Minute {
		t.Errorf("a minute from now is read as %v", got)
	}
}
