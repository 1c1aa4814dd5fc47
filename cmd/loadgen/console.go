package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// console is where people read: the report, and a progress line that is
// rewritten in place, only if stderr is a terminal. Safe for concurrent use.
type console struct {
	mu       sync.Mutex
	out      io.Writer
	progress io.Writer // nil if nobody watches
	shown    bool      // the progress line stands on the screen
}

func newConsole(out, stderr io.Writer) *console {
	c := &console{out: out}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.progress = f
	}
	return c
}

func (c *console) printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
	fmt.Fprintf(c.out, format, args...)
}

// status replaces the progress line.
func (c *console) status(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == nil {
		return
	}
	c.wipe()
	fmt.Fprintf(c.progress, format, args...)
	c.shown = true
}

// clear takes the progress line away.
func (c *console) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wipe()
}

func (c *console) wipe() {
	if c.shown {
		fmt.Fprint(c.progress, "\r\x1b[K")
		c.shown = false
	}
}
