package breakerredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/redis/go-redis/v9"
)

// message is what members of a fleet tell each other: a verdict.
type message struct {
	from    string
	token   uint64
	verdict string
	name    string

	teller *atomicbreaker.Breaker // not sent: it knows already
}

// String is the form on the wire: 1 from token verdict name, by spaces.
func (m message) String() string {
	return fmt.Sprintf("1 %s %d %s %s", m.from, m.token, m.verdict, url.QueryEscape(m.name))
}

func parse(text string) (m message, ok bool) {
	part := strings.Split(text, " ")
	if len(part) != 5 || part[0] != "1" {
		return m, false // of a later version, or somebody else's
	}
	token, err := strconv.ParseUint(part[2], 10, 62)
	name, err2 := url.QueryUnescape(part[4])
	return message{from: part[1], token: token, verdict: part[3], name: name}, err == nil && err2 == nil
}

// verdictOf reads what acquireScript says was found out last.
func verdictOf(text string) (m message, ok bool) {
	token, verdict, ok := strings.Cut(text, " ")
	n, err := strconv.ParseUint(token, 10, 62)
	return message{token: n, verdict: verdict}, ok && err == nil
}

// order puts verdicts in order: by token and, of one lease, as they are given.
// 0 is no verdict.
func (m message) order() uint64 {
	for v := breakerlease.Answered; v <= breakerlease.Reopened; v++ {
		if m.verdict == v.String() {
			return 4*m.token + uint64(v)
		}
	}
	return 0
}

// act does what a message says to the breakers of its name. A verdict is a hint: it
// makes nobody closed. One that is not newer than the last is ignored.
func (f *Fleet) act(t *team, m message) {
	order := m.order()
	for {
		heard := t.heard.Load()
		if order <= heard {
			return
		}
		if t.heard.CompareAndSwap(heard, order) {
			break
		}
	}
	good := m.verdict != breakerlease.Reopened.String()
	t.each(func(b *atomicbreaker.Breaker) {
		switch {
		case b == m.teller:
		case good:
			b.EndCooldown()
		case f.options.OpenWithOthers:
			// A forced one would remember it, like an operator's command.
			if m := b.Snapshot().Mode; m == atomicbreaker.Auto || m == atomicbreaker.Shadow {
				b.Trip()
			}
		}
	})
}

// The listener asks whether its connection lives after so long without a
// message, and tries again after a failure after between minPause and maxPause.
const (
	silence  = time.Second
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// listen hears the others until the Fleet is closed.
func (f *Fleet) listen() {
	pause := minPause
	for f.ctx.Err() == nil {
		if f.listenOnce() {
			pause = minPause
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

// listenOnce hears the others over one connection, and reports whether there
// was one.
func (f *Fleet) listenOnce() (connected bool) {
	sub := f.client.Subscribe(f.ctx)
	defer sub.Close()
	defer context.AfterFunc(f.ctx, func() { _ = sub.Close() })() // ends a wait for a message
	ctx, cancel := context.WithTimeout(f.ctx, silence)
	err := sub.Subscribe(ctx, f.channel)
	cancel()
	asked := false
	for err == nil {
		var got any
		got, err = sub.ReceiveTimeout(f.ctx, silence)
		switch got := got.(type) {
		case *redis.Subscription:
			connected = true
		case *redis.Message:
			if m, ok := parse(got.Payload); ok && m.from != f.id {
				if t, ours := f.teams.Load(m.name); ours {
					f.act(t.(*team), m)
				}
			}
		}
		var timeout net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && f.ctx.Err() == nil:
			asked = true
			ctx, cancel := context.WithTimeout(f.ctx, silence)
			err = sub.Ping(ctx)
			cancel()
		}
	}
	if f.ctx.Err() == nil {
		f.log.note(err)
	}
	return connected
}
