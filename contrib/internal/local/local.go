// Package local tells failures of this process from those of a dependency.
package local

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Exhausted reports whether err says that this process or machine has run out
// of descriptors, ports, buffers or memory, so that no dependency was asked.
func Exhausted(err error) bool {
	return slices.ContainsFunc(exhausted, func(e error) bool { return errors.Is(err, e) })
}

// ExhaustedText is Exhausted for libraries that keep only the text of an error.
// It is to be asked only about text that was written by this process.
func ExhaustedText(text string) bool {
	return slices.ContainsFunc(exhausted, func(e error) bool { return strings.Contains(text, e.Error()) })
}

// Left is a context that was cancelled, Late one whose deadline has passed. They
// stand for the context of a caller who is gone where only the other end knows it.
var Left, Late = left(), late()

func left() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func late() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	cancel()
	return ctx
}

// CallerOf returns ctx, or Late if its deadline has passed and it does not say so yet:
// several timers may run for one deadline, and none of them is the first.
func CallerOf(ctx context.Context) context.Context {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(deadline) {
		return Late
	}
	return ctx
}
