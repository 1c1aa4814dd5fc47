package breakergrpc

import (
	"errors"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusalError is a breaker's refusal as gRPC's users expect it: a status
// error, and still the refusal.
type refusalError struct {
	refusal *atomicbreaker.RejectedError
	status  *status.Status
}

func refusalOf(err error) *refusalError {
	refusal, ok := errors.AsType[*atomicbreaker.RejectedError](err)
	if !ok {
		panic("breakergrpc: Acquire returned an error that is no refusal: " + err.Error())
	}
	return &refusalError{refusal, status.New(codes.Unavailable, refusal.Error())}
}

func (e *refusalError) Error() string { return e.status.Err().Error() }

// GRPCStatus makes it a status error.
func (e *refusalError) GRPCStatus() *status.Status { return e.status }

// Unwrap returns the breaker's own error.
func (e *refusalError) Unwrap() error { return e.refusal }
