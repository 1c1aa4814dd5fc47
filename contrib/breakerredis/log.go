package breakerredis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// limitedLog tells of failures at most once in a while, with how many there
// have been, and of the end of a failure that it has told of.
type limitedLog struct {
	to    *slog.Logger
	every time.Duration

	mu      sync.Mutex
	last    time.Time
	failing bool
	kept    int // failures since the last record
}

func (l *limitedLog) note(err error) {
	if l.to == nil {
		return
	}
	if err == nil {
		if kept, ended := l.end(); ended {
			l.to.Info("breakerredis: Redis answers again", "failures", kept)
		}
	} else if kept, due := l.due(); due {
		l.to.Warn("breakerredis: Redis does not answer; breakers probe for themselves", "error", err, "failures", kept)
	}
}

// due counts a failure, and reports whether to tell of it and of how many.
func (l *limitedLog) due() (kept int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept++
	now := time.Now()
	if !l.last.IsZero() && now.Sub(l.last) < l.every {
		return 0, false
	}
	kept, l.kept = l.kept, 0
	l.last, l.failing = now, true
	return kept, true
}

// end reports whether a failure that was told of is over, and how many have not been told of.
func (l *limitedLog) end() (kept int, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failing {
		return 0, false
	}
	kept, l.kept, l.failing = l.kept, 0, false
	return kept, true
}

// LimitClientLog makes go-redis, which by itself writes a line to the standard
// error for every connection that it does not get, write one record to l at
// most every so often; to nobody if l is nil. It is for the whole process,
// because go-redis has one logger: call it once, at the start.
func LimitClientLog(l *slog.Logger, every time.Duration) {
	redis.SetLogger(&clientLog{limitedLog{to: l, every: every}})
}

type clientLog struct{ limitedLog }

// Printf is what go-redis calls.
func (l *clientLog) Printf(_ context.Context, format string, values ...any) {
	if l.to == nil {
		return
	}
	if kept, due := l.due(); due {
		l.to.Warn("go-redis: "+fmt.Sprintf(format, values...), "records", kept)
	}
}
