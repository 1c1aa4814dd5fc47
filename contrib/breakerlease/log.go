package breakerlease

import (
	"log/slog"
	"sync"
	"time"
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
			l.to.Info("breakerlease: the store answers again", "failures", kept)
		}
	} else if kept, due := l.due(); due {
		l.to.Warn("breakerlease: the store does not answer; breakers probe for themselves", "error", err, "failures", kept)
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

// replaced tells of a lease that was none.
func (l *limitedLog) replaced(name string) {
	if l.to != nil {
		l.to.Warn("breakerlease: replaced a lease that lived for too long; do members disagree on TTL, or does something else write to the store?", "name", name)
	}
}

// disagree tells on what a member disagrees.
func (l *limitedLog) disagree(what, who string) {
	if l.to != nil {
		l.to.Warn("breakerlease: members disagree: "+what, "member", who)
	}
}
