package breakerredis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// LimitClientLog makes go-redis, which by itself writes a line to the standard
// error for every connection that it does not get, write one record to l at
// most every so often; to nobody if l is nil. It is for the whole process,
// because go-redis has one logger: call it once, at the start.
func LimitClientLog(l *slog.Logger, every time.Duration) {
	redis.SetLogger(&clientLog{to: l, every: every})
}

type clientLog struct {
	to    *slog.Logger
	every time.Duration

	mu   sync.Mutex
	last time.Time
	kept int // records since the last that was written
}

// Printf is what go-redis calls.
func (l *clientLog) Printf(_ context.Context, format string, values ...any) {
	if l.to == nil {
		return
	}
	if kept, due := l.due(); due {
		l.to.Warn("go-redis: "+fmt.Sprintf(format, values...), "records", kept)
	}
}

func (l *clientLog) due() (kept int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept++
	now := time.Now()
	if !l.last.IsZero() && now.Sub(l.last) < l.every {
		return 0, false
	}
	kept, l.kept, l.last = l.kept, 0, now
	return kept, true
}
