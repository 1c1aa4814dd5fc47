package breakerlease

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// One record a minute, however much fails, and one when it is over.
func TestLogsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		l := &limitedLog{to: slog.New(slog.NewTextHandler(&text, nil)), every: time.Minute}
		for range 600 { // ten minutes
			l.note(errors.New("away"))
			time.Sleep(time.Second)
		}
		require.Equal(t, 10, strings.Count(text.String(), "level=WARN"))
		require.Equal(t, 9, strings.Count(text.String(), "failures=60"))
		l.note(nil)
		l.note(nil)
		require.Equal(t, 1, strings.Count(text.String(), "level=INFO"))
		(&limitedLog{}).note(errors.New("nobody is told"))
	})
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	for _, m := range []message{
		{from: "A", kind: "answered", name: "a b {} ü&=", token: Token{"epoch", 1 << 60}},
		{from: "A", kind: "recovered", name: "x", alone: true},
		{from: "A", kind: hello, holder: "host/1", identity: "stock, eu", ttl: 100 * time.Millisecond},
	} {
		got, ok := parse(m.String())
		require.True(t, ok, m.String())
		require.Equal(t, m, got)
	}
	for _, bad := range []message{
		{from: "A", kind: "unused", name: "x", token: Token{"e", 1}},
		{from: "A", kind: "reopened", name: "x", alone: true},
		{from: "A", kind: "answered", name: "x"},
		{kind: hello, ttl: 1},
	} {
		_, ok := parse(bad.String())
		require.False(t, ok, bad.String())
	}
}
