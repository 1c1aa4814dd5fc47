package breakerhttp

import (
	"errors"
	"net"
	"net/http"
	"strings"
)

// unsendable reports whether err, of a request that got no answer, is the request's
// own fault: it can be sent to nobody. net/http has no type for such errors, so the
// request is looked at.
func unsendable(req *http.Request, err error) bool {
	switch {
	case req.URL == nil || req.Header == nil || req.Method != "" && !isToken(req.Method):
		return true
	case req.ContentLength != 0 && req.Body == nil:
		return true
	case !headersOK(req.Header) || !headersOK(req.Trailer) || strings.ContainsFunc(req.Host, isControl):
		return true
	}
	if _, ok := errors.AsType[*net.AddrError](err); ok {
		return true // a port or an address that cannot be
	}
	text := err.Error()
	for _, known := range []string{
		"unsupported protocol scheme", "http: no Host in request URL", "no Host in request URL",
		"http: invalid Host header", "request header list larger than peer's advertised limit",
	} {
		if strings.Contains(text, known) {
			return true
		}
	}
	return false
}

func headersOK(h http.Header) bool {
	for name, values := range h {
		if !isToken(name) {
			return false
		}
		for _, v := range values {
			if strings.ContainsFunc(v, isControl) {
				return false
			}
		}
	}
	return true
}

// isControl reports whether a header's value must not contain r.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isToken is RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
