package frame

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Console is where people read: the report, and a progress line that is
// rewritten in place, only if stderr is a terminal. Safe for concurrent use.
type Console struct {
	mu       sync.Mutex
	out      io.Writer
	progress io.Writer // nil if nobody watches
	shown    bool      // the progress line stands on the screen
}

// NewConsole writes to out, and the progress line to stderr.
func NewConsole(out, stderr io.Writer) *Console {
	c := &Console{out: out}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.progress = f
	}
	return c
}

// Printf writes for people, and first takes the progress line away.
func (c *Console) Printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
	fmt.Fprintf(c.out, format, args...)
}

// Status replaces the progress line.
func (c *Console) Status(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == nil {
		return
	}
	c.wipe()
	fmt.Fprintf(c.progress, format, args...)
	c.shown = true
}

// Clear takes the progress line away.
func (c *Console) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
}

func (c *Console) wipe() {
	if c.shown {
		fmt.Fprint(c.progress, "\r\x1b[K")
		c.shown = false
	}
}
