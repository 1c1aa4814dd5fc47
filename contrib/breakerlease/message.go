package breakerlease

import (
	"net/url"
	"strconv"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// message is what members of a fleet tell each other: a verdict, or hello.
type message struct {
	from  string
	kind  string // of a lease: what became of it; or hello
	name  string
	token Token
	alone bool // found out without a lease

	// Of hello.
	holder   string
	identity string
	ttl      time.Duration

	teller *atomicbreaker.Breaker // not sent: it knows already
}

const hello = "hello"

// wireVersion is that of the form on the wire. Messages of others are ignored.
const wireVersion = "2"

// String is the form on the wire.
func (m message) String() string {
	v := url.Values{"v": {wireVersion}, "from": {m.from}, "kind": {m.kind}}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	set("name", m.name)
	set("holder", m.holder)
	set("identity", m.identity)
	if m.alone {
		v.Set("alone", "1")
	}
	if m.token != (Token{}) {
		v.Set("epoch", m.token.Epoch)
		v.Set("number", strconv.FormatUint(m.token.Number, 10))
	}
	if m.ttl > 0 {
		v.Set("ttl", m.ttl.String())
	}
	return v.Encode()
}

// maxMessage is how long a message may be. A name has at most 256 bytes.
const maxMessage = 4096

// parse reads the form on the wire.
func parse(text string) (m message, ok bool) {
	if len(text) > maxMessage {
		return m, false
	}
	v, err := url.ParseQuery(text)
	if err != nil || v.Get("v") != wireVersion {
		return m, false // of another version, or somebody else's
	}
	m = message{
		from: v.Get("from"), kind: v.Get("kind"), name: v.Get("name"), alone: v.Get("alone") == "1",
		holder: v.Get("holder"), identity: v.Get("identity"), token: Token{Epoch: v.Get("epoch")},
	}
	if m.kind == hello {
		m.ttl, err = time.ParseDuration(v.Get("ttl"))
		return m, err == nil && m.from != ""
	}
	if !m.alone {
		m.token.Number, err = strconv.ParseUint(v.Get("number"), 10, 62)
		ok = err == nil && m.token.Epoch != ""
	} else {
		ok = m.verdict() == Answered || m.verdict() == Recovered
	}
	return m, ok && m.verdict() != Unused
}

// verdict returns the verdict that a message tells of, Unused if it is none.
func (m message) verdict() Verdict {
	for v := Answered; v <= Reopened; v++ {
		if m.kind == v.String() {
			return v
		}
	}
	return Unused
}
