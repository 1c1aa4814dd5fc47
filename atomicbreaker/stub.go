package atomicbreaker

import (
	"context"
	"time"
)

type Breaker struct{}
type Ticket struct{ b *Breaker }

func (c Config) Validate() error                                             { panic("stub") }
func New(c Config) (*Breaker, error)                                         { panic("stub") }
func MustNew(c Config) *Breaker                                              { panic("stub") }
func (b *Breaker) Ready() bool                                               { panic("stub") }
func (b *Breaker) Acquire() (Ticket, error)                                  { panic("stub") }
func (t *Ticket) Done(err error) bool                                        { panic("stub") }
func (t *Ticket) DoneContext(ctx context.Context, e error) bool              { panic("stub") }
func (t *Ticket) Report(o Outcome) bool                                      { panic("stub") }
func (t *Ticket) ReportAfter(o Outcome, d time.Duration) bool                { panic("stub") }
func (t *Ticket) Cancel() bool                                               { panic("stub") }
func (b *Breaker) Do(c context.Context, f func(context.Context) error) error { panic("stub") }
func Do[T any](c context.Context, b *Breaker, f func(context.Context) (T, error)) (T, error) {
	panic("stub")
}
func (b *Breaker) State() State              { panic("stub") }
func (b *Breaker) Snapshot() Snapshot        { panic("stub") }
func (b *Breaker) RetryAfter() time.Duration { panic("stub") }
func (b *Breaker) Name() string              { panic("stub") }
func (b *Breaker) Trip()                     { panic("stub") }
func (b *Breaker) Reset()                    { panic("stub") }
func (b *Breaker) SetMode(m Mode)            { panic("stub") }
