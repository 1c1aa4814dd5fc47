package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func TestExhausted(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("get: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", err)})
	}
	for err, want := range map[error]bool{
		dial(exhausted[0]):  true,
		dial(exhausted[1]):  true,
		dial(net.ErrClosed): false,
		io.ErrUnexpectedEOF: false,
		nil:                 false,
	} {
		if got := Exhausted(err); got != want {
			t.Errorf("Exhausted(%v) is %v", err, got)
		}
		if err != nil && ExhaustedText(err.Error()) != want {
			t.Errorf("ExhaustedText(%q) is %v", err, !want)
		}
	}
}

func TestContextsOfCallersThatAreGone(t *testing.T) {
	if !errors.Is(Left.Err(), context.Canceled) || !errors.Is(Late.Err(), context.DeadlineExceeded) {
		t.Errorf("Left is %v, Late is %v", Left.Err(), Late.Err())
	}
	soon, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if CallerOf(soon) != soon || CallerOf(Left) != Left || CallerOf(silent{soon}) != Late {
		t.Error("CallerOf is wrong about who is late")
	}
}

// silent is a context whose deadline has passed and that has not noticed.
type silent struct{ context.Context }

func (silent) Deadline() (time.Time, bool) { return time.Now(), true }
