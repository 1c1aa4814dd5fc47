package breakerconnect

import (
	"errors"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	pushback   = "Grpc-Retry-Pushback-Ms" // which gRPC's retry policies obey
	retryAfter = "Retry-After"
)

// probing is what to tell a client while probes are under way: the default
// time that a breaker takes to look again.
const probing = time.Second

// refusalOf is a breaker's refusal as Connect's users expect it. A client's is never sent. That
// of a handler tells when to come back: by a RetryInfo, and by the headers or trailers that HTTP and gRPC
// have for it. While an operator holds the breaker open nobody knows when.
func refusalOf(err error, client bool) *connect.Error {
	refused := connect.NewError(connect.CodeUnavailable, err)
	refusal, ok := errors.AsType[*atomicbreaker.RejectedError](err)
	if client || !ok {
		return refused
	}
	after := refusal.RetryAfter()
	switch refusal.Unwrap() {
	case atomicbreaker.ErrForced:
		refused.Meta().Set(pushback, "-1")
		return refused
	case atomicbreaker.ErrProbeLimit:
		after = max(after, probing)
	}
	ms := max(1, (after+time.Millisecond-1)/time.Millisecond)
	seconds := max(1, (after+time.Second-1)/time.Second)
	refused.Meta().Set(pushback, strconv.FormatInt(int64(ms), 10))
	refused.Meta().Set(retryAfter, strconv.FormatInt(int64(seconds), 10))
	if d, err := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(ms * time.Millisecond)}); err == nil {
		refused.AddDetail(d)
	}
	return refused
}
