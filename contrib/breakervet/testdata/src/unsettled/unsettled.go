package unsettled

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func call(ctx context.Context) error { return nil }
func prepare() error                 { return nil }
func isRefused(err error) bool       { return atomicbreaker.IsRejected(err) }

// Mistakes.

func earlyReturn(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire() // want `the ticket ticket is not settled on every path: the one that ends in line 24 loses it`
	if err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err
	}
	err = call(ctx)
	ticket.Done(ctx, err)
	return err
}

func sameError(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire() // want `ends in line 38 loses it`
	if err != nil {
		return err
	}
	err = call(ctx)
	if err != nil {
		return err
	}
	ticket.Done(ctx, nil)
	return nil
}

func inverted(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.AcquireWait(ctx) // want `ends in line 53 loses it`
	if err == nil {
		if call(ctx) == nil {
			ticket.Report(atomicbreaker.Success)
			return nil
		}
		log.Print("failed")
	}
	return err
}

func around(b *atomicbreaker.Breaker, work []int) {
	for _, w := range work {
		ticket, err := b.Acquire() // want `is not settled on every path`
		if err != nil {
			return
		}
		if w == 0 {
			continue
		}
		ticket.Report(atomicbreaker.Success)
	}
}

func byKind(b *atomicbreaker.Breaker, n int) error {
	ticket, err := b.Acquire() // want `ends in line 78 loses it`
	switch {
	case atomicbreaker.IsRejected(err):
		return err
	case n == 1:
		ticket.Cancel()
		return nil
	}
	return nil
}

func unread(b *atomicbreaker.Breaker) {
	ticket, _ := b.Acquire() // want `is not settled on every path`
	if prepare() != nil {
		return
	}
	ticket.Cancel()
}

func dropped(b *atomicbreaker.Breaker) bool {
	b.Acquire()           // want `the ticket of this Acquire is dropped: settle it, or ask by Ready`
	_, err := b.Acquire() // want `the ticket of this Acquire is dropped`
	return err == nil
}

func literal(b *atomicbreaker.Breaker) func() {
	return func() {
		ticket, err := b.Acquire() // want `is not settled on every path`
		if err != nil || prepare() != nil {
			return
		}
		ticket.Cancel()
	}
}

// What is right, or is not understood.

func settled(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	if err := prepare(); err != nil {
		ticket.Cancel()
		return err
	}
	err = call(ctx)
	ticket.Done(ctx, err)
	return err
}

func deferred(ctx context.Context, b *atomicbreaker.Breaker) (err error) {
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	defer func() { ticket.Done(ctx, err) }()
	if err := prepare(); err != nil {
		return err
	}
	return call(ctx)
}

func deferredPanic(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	defer ticket.Report(atomicbreaker.Failure)
	return call(ctx)
}

func ifForm(b *atomicbreaker.Breaker) {
	if ticket, err := b.Acquire(); err == nil {
		ticket.Report(atomicbreaker.Success)
	}
	if ticket, err := b.Acquire(); err != nil {
		log.Print(err)
	} else {
		ticket.Cancel()
	}
}

func fatal(b *atomicbreaker.Breaker) {
	ticket, err := b.Acquire()
	if err != nil {
		log.Fatal(err)
	}
	if prepare() != nil {
		panic("cannot prepare")
	}
	ticket.Cancel()
}

func handedOn(b *atomicbreaker.Breaker) (*atomicbreaker.Ticket, error) {
	ticket, err := b.Acquire()
	if err != nil {
		return nil, err
	}
	return &ticket, nil
}

func returned(b *atomicbreaker.Breaker) (ticket atomicbreaker.Ticket, err error) {
	ticket, err = b.Acquire()
	return
}

func nakedReturn(b *atomicbreaker.Breaker) (err error) {
	ticket, err := b.Acquire()
	if err != nil {
		return
	}
	ticket.Cancel()
	return
}

func kept(b *atomicbreaker.Breaker, tickets []*atomicbreaker.Ticket) []*atomicbreaker.Ticket {
	for range 3 {
		ticket, err := b.Acquire()
		if err != nil {
			break
		}
		tickets = append(tickets, &ticket)
	}
	return tickets
}

func deferredBefore(b *atomicbreaker.Breaker) error {
	var ticket atomicbreaker.Ticket
	defer ticket.Cancel()
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	return prepare()
}

func closedOver(b *atomicbreaker.Breaker) error {
	var ticket atomicbreaker.Ticket
	cancel := func() { ticket.Cancel() }
	defer cancel()
	var err error
	if ticket, err = b.Acquire(); err != nil {
		return err
	}
	return prepare()
}

func byHelper(b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	if isRefused(err) {
		return err
	}
	ticket.Cancel()
	return nil
}

func byErrorsIs(b *atomicbreaker.Breaker) int {
	ticket, err := b.Acquire()
	if errors.Is(err, atomicbreaker.ErrOpen) {
		return 0
	}
	if err != nil {
		return 1
	}
	ticket.Cancel()
	return 2
}

func byAs(b *atomicbreaker.Breaker) int {
	ticket, err := b.Acquire()
	var target interface{ Timeout() bool }
	if ok := errors.As(err, &target); ok {
		return 0
	}
	ticket.Cancel()
	return 2
}

func both(b *atomicbreaker.Breaker, n int) int {
	ticket, err := b.Acquire()
	if err != nil && n > 0 {
		return 0
	}
	if err != nil {
		return 1
	}
	ticket.Cancel()
	return 2
}

func retries(ctx context.Context, b *atomicbreaker.Breaker) error {
	for {
		ticket, err := b.Acquire()
		if err != nil {
			continue
		}
		err = call(ctx)
		ticket.Done(ctx, err)
		if err == nil {
			return nil
		}
	}
}

func channels(b *atomicbreaker.Breaker, c chan int, stop chan struct{}) {
	ticket, err := b.Acquire()
	if err != nil {
		return
	}
	select {
	case <-c:
		ticket.Report(atomicbreaker.Success)
	case <-stop:
		ticket.Cancel()
	}
}

func meant(b *atomicbreaker.Breaker) bool {
	//breakervet:ignore a test of what a dropped ticket does
	_, err := b.Acquire()
	_, err = b.Acquire() //breakervet:ignore the same
	return err == nil
}

func markedWithoutReason(b *atomicbreaker.Breaker) {
	//breakervet:ignore
	b.Acquire() // want `is dropped`
}
