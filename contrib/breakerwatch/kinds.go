package breakerwatch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Kind says in one fixed word what went wrong with a call, so that it can be
// the label of a metric.
type Kind uint8

const (
	KindOther     Kind = iota // none of those below
	KindTimeout               // no answer in time
	KindRefused               // nobody takes connections there
	KindReset                 // the connection was cut off
	KindName                  // the name of the host is not known
	KindTLS                   // no agreement on encryption, or a wrong certificate
	KindStatus                // an answer that says that the server failed
	KindLimited               // an answer that says: too many calls
	KindLocal                 // this side failed before anything was sent
	KindCancelled             // the call was given up by this side
	allKinds      = iota
)

var kindNames = [allKinds]string{"other", "timeout", "refused", "reset", "name", "tls", "status", "limited", "local", "cancelled"}

// String returns other, timeout, refused, reset, name, tls, status, limited,
// local or cancelled.
func (k Kind) String() string {
	if k < allKinds {
		return kindNames[k]
	}
	return "unknown kind " + strconv.Itoa(int(k))
}

// MarshalText returns the same text as String. It fails for an unknown kind.
func (k Kind) MarshalText() ([]byte, error) {
	if k < allKinds {
		return []byte(kindNames[k]), nil
	}
	return nil, fmt.Errorf("breakerwatch: unknown Kind %d, want 0 to %d", k, allKinds-1)
}

// Kinds returns every kind, in order.
func Kinds() []Kind {
	all := make([]Kind, allKinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// KindOf tells the kind of an error. An error that has a method
//
//	BreakerKind() string
//
// or wraps one that has, is of the kind whose text that returns; so a host
// says what only it knows, such as a status. Otherwise KindOf knows the
// errors of net, crypto/tls, context and syscall. Errors whose methods panic
// are KindOther.
func KindOf(err error) (k Kind) {
	defer func() {
		if recover() != nil {
			k = KindOther
		}
	}()
	var own interface{ BreakerKind() string }
	if errors.As(err, &own) {
		text := own.BreakerKind()
		for i, name := range kindNames {
			if name == text {
				return Kind(i)
			}
		}
	}
	return netKind(err)
}

func netKind(err error) Kind {
	var name *net.DNSError
	var timeout interface{ Timeout() bool }
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.Is(err, context.Canceled):
		return KindCancelled
	case errors.As(err, &name) && !name.IsTimeout:
		return KindName
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return KindTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return KindRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return KindReset
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &verify), errors.As(err, &authority), errors.As(err, &host):
		return KindTLS
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, net.ErrClosed):
		return KindLocal
	}
	return KindOther
}

// LastError is the latest error that a breaker's calls ended with.
type LastError struct {
	Time time.Time `json:"time,omitzero"` // zero: there was none
	Kind Kind      `json:"kind"`
	Text string    `json:"text"` // printable, at most 256 bytes
}

// maxErrorText bounds LastError.Text.
const maxErrorText = 256

// Errors counts the failures of a breaker that were reported to the Watch.
type Errors struct {
	Counts [allKinds]uint64 // by Kind
	Last   LastError
}

// MarshalJSON gives the kinds that there were by their names, and the last.
func (e Errors) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteString(`{"kinds":{`)
	for k, n := range e.Counts {
		if n > 0 {
			if !strings.HasSuffix(b.String(), "{") {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q:%d", Kind(k), n)
		}
	}
	last, err := json.Marshal(e.Last)
	if err != nil {
		return nil, err
	}
	b.WriteString(`},"last":`)
	b.Write(last)
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// errorCounters is Errors while it is written to.
type errorCounters struct {
	counts [allKinds]atomic.Uint64
	last   atomic.Pointer[LastError]
}

// errorEvery is how often the text of an error is taken for a breaker that
// fails all the time in the same way.
const errorEvery = 100 * time.Millisecond

// Failure tells the Watch of a failed call of the breaker of that name. The
// error is not kept, only its text; err may be nil. Hosts that judge calls
// without Config.Classify call this; for others see [Watch.Errors]. It takes no
// lock.
func (w *Watch) Failure(name string, kind Kind, err error) {
	r := w.heard(name)
	if r == nil || kind >= allKinds {
		return
	}
	c := r.errors.Load()
	if c == nil {
		r.errors.CompareAndSwap(nil, new(errorCounters))
		c = r.errors.Load()
	}
	c.counts[kind].Add(1)
	now := time.Now()
	if old := c.last.Load(); old == nil || old.Kind != kind || now.Sub(old.Time) >= errorEvery {
		c.last.Store(&LastError{Time: now, Kind: kind, Text: textOf(err)})
	}
}

// Errors returns c with a Classify that tells the Watch of the errors that c's
// own Classify, or the default, calls failures: their kind, by [KindOf], and
// the text of the latest. It sees what Classify sees. In a Group call it from
// GroupConfig.Configure, where the name is known:
//
//	Configure: func(_ string, c atomicbreaker.Config) atomicbreaker.Config { return watch.Errors(c) }
func (w *Watch) Errors(c atomicbreaker.Config) atomicbreaker.Config {
	theirs, name := c.Classify, c.Name
	c.Classify = func(err error) atomicbreaker.Outcome {
		o := atomicbreaker.Failure
		if theirs != nil {
			o = theirs(err)
		}
		if o == atomicbreaker.Failure {
			w.Failure(name, KindOf(err), err)
		}
		return o
	}
	return c
}

// Errors returns what is known of the breaker's failures. It reports false if
// there was none.
func (r *Reading) Errors() (Errors, bool) {
	if r.record == nil {
		return Errors{}, false
	}
	c := r.record.errors.Load()
	if c == nil {
		return Errors{}, false
	}
	var e Errors
	for i := range e.Counts {
		e.Counts[i] = c.counts[i].Load()
	}
	e.Last = r.record.lastError()
	return e, true
}

func (r *record) lastError() LastError {
	if c := r.errors.Load(); c != nil {
		if last := c.last.Load(); last != nil {
			return *last
		}
	}
	return LastError{}
}

// textOf is the text of an error, bounded, with what could turn a line around
// or end it escaped.
func textOf(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T, whose Error method panics", err)
		}
	}()
	return bounded(err.Error())
}

// bounded is text in printable characters, at most maxErrorText bytes.
func bounded(text string) string {
	if len(text) > maxErrorText { // quoting makes it no shorter
		text = text[:maxErrorText]
	}
	quoted := strconv.Quote(text)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if len(quoted) <= maxErrorText {
		return quoted
	}
	const more = "…"
	cut := maxErrorText - len(more)
	for !utf8.RuneStart(quoted[cut]) {
		cut--
	}
	return quoted[:cut] + more
}

// LastError returns the latest error of the breaker of that name. It reports
// false if there was none. It takes no lock.
func (w *Watch) LastError(name string) (LastError, bool) {
	v, ok := w.records.Load(name)
	if !ok {
		return LastError{}, false
	}
	e := v.(*record).lastError()
	return e, !e.Time.IsZero()
}
