// Package atomicbreaker is the surface of the real one that the analyzers know.
package atomicbreaker

import (
	"context"
	"errors"
	"time"
)

var ErrOpen = errors.New("open")

type (
	Config  struct{ Name string }
	Breaker struct{ _ int }
	Ticket  struct{ _ int }
	Outcome uint8

	Group[K comparable]       struct{ _ K }
	GroupConfig[K comparable] struct{ Config Config }
)

const (
	Success Outcome = iota
	Failure
	Ignored
)

func New(c Config) (*Breaker, error)                                     { return nil, nil }
func MustNew(c Config) *Breaker                                          { return nil }
func NewGroup[K comparable](c GroupConfig[K]) (*Group[K], error)         { return nil, nil }
func IsRejected(err error) bool                                          { return false }
func (g *Group[K]) Get(k K) *Breaker                                     { return nil }
func (b *Breaker) Acquire() (Ticket, error)                              { return Ticket{}, nil }
func (b *Breaker) AcquireWait(ctx context.Context) (Ticket, error)       { return Ticket{}, nil }
func (b *Breaker) Trip()                                                 {}
func (b *Breaker) Ready() bool                                           { return true }
func (b *Breaker) Do(context.Context, func(context.Context) error) error { return nil }
func (t *Ticket) Done(ctx context.Context, err error) bool               { return true }
func (t *Ticket) Report(o Outcome) bool                                  { return true }
func (t *Ticket) ReportAfter(o Outcome, after time.Duration) bool        { return true }
func (t *Ticket) Cancel() bool                                           { return true }

func Do[T any](ctx context.Context, b *Breaker, f func(context.Context) (T, error)) (v T, err error) {
	return
}
func DoWith[T any](ctx context.Context, b *Breaker, judge func(T, error) Outcome, f func(context.Context) (T, error)) (v T, err error) {
	return
}
