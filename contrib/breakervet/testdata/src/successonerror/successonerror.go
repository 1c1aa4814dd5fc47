package successonerror

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

var errNotFound = errors.New("not found")

func call(ctx context.Context) (string, error) { return "", nil }

func mistakes(ctx context.Context, t *atomicbreaker.Ticket, c *http.Client, r *http.Request) error {
	_, err := call(ctx)
	if err != nil {
		t.Report(atomicbreaker.Success) // want `the call failed with err, and is settled as a success: use Done\(ctx, err\)`
		return err
	}
	if _, err := c.Do(r); err != nil {
		t.Done(ctx, nil) // want `the call failed with err`
		return err
	}
	if _, err := c.Get("http://localhost"); err == nil {
		t.Report(atomicbreaker.Success)
	} else {
		t.ReportAfter(atomicbreaker.Success, 0) // want `the call failed with err`
	}
	return nil
}

// What is right.

func right(ctx context.Context, t *atomicbreaker.Ticket) error {
	text, err := call(ctx)
	if errors.Is(err, errNotFound) {
		t.Report(atomicbreaker.Success) // the server is well
		return err
	}
	if err != nil {
		if errors.Is(err, errNotFound) {
			t.Report(atomicbreaker.Success)
		} else {
			t.Report(atomicbreaker.Failure)
		}
		switch err {
		case errNotFound:
			t.Report(atomicbreaker.Success)
		}
		t.Done(ctx, err)
		return err
	}
	if err == nil {
		t.Report(atomicbreaker.Success)
	}
	_, err = strconv.Atoi(text)
	if err != nil {
		t.Report(atomicbreaker.Success) // the server has answered, whatever we make of it
		return err
	}
	return nil
}

func claims(ctx context.Context, b *atomicbreaker.Breaker, t *atomicbreaker.Ticket) {
	inner, err := b.AcquireWait(ctx)
	if err != nil {
		t.Report(atomicbreaker.Success)
		return
	}
	inner.Cancel()
}
