package leasetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// Memory is a Store for tests, whose server is this process: what the tests of
// this package expect, in the fewest words, and faults on command. The zero
// Memory is empty and in order.
type Memory struct {
	mu        sync.Mutex
	names     map[string]*entry
	epoch     int
	jumped    time.Duration
	delay     time.Duration
	err       error
	paused    chan struct{} // closed when it goes on; nil: it is not paused
	listeners map[*listener]struct{}
}

var _ breakerlease.Store = (*Memory)(nil)

type entry struct {
	fence   breakerlease.Token // the last lease
	holder  string
	until   time.Time // of that lease; zero: it has ended
	message string
}

type listener struct {
	heard chan string
	cut   chan struct{}
}

// Delay makes each call take d longer.
func (m *Memory) Delay(d time.Duration) { m.set(func() { m.delay = d }) }

// Fail makes each call fail with err; nil ends that.
func (m *Memory) Fail(err error) { m.set(func() { m.err = err }) }

// Jump moves the store's clock.
func (m *Memory) Jump(d time.Duration) { m.set(func() { m.jumped += d }) }

// Lose forgets everything, as a server does that comes back empty.
func (m *Memory) Lose() { m.set(func() { m.names = nil }) }

// Cut ends the connections of all listeners.
func (m *Memory) Cut() {
	m.set(func() {
		for l := range m.listeners {
			close(l.cut)
		}
		m.listeners = nil
	})
}

// Pause lets calls stand still until Resume.
func (m *Memory) Pause() { m.set(func() { m.paused = make(chan struct{}) }) }

// Resume ends Pause.
func (m *Memory) Resume() { m.set(func() { close(m.paused); m.paused = nil }) }

func (m *Memory) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// call is one round trip: f runs at the server.
func (m *Memory) call(ctx context.Context, f func(now time.Time)) error {
	m.mu.Lock()
	delay, paused := m.delay, m.paused
	m.mu.Unlock()
	if paused != nil {
		select {
		case <-paused:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil || m.err != nil {
		return errors.Join(ctx.Err(), m.err)
	}
	f(time.Now().Add(m.jumped))
	return nil
}

func (m *Memory) entry(name string) *entry {
	if m.names == nil {
		m.names = map[string]*entry{}
	}
	e := m.names[name]
	if e == nil {
		m.epoch++
		e = &entry{fence: breakerlease.Token{Epoch: "e" + strconv.Itoa(m.epoch)}}
		m.names[name] = e
	}
	return e
}

// Acquire implements breakerlease.Store.
func (m *Memory) Acquire(ctx context.Context, r breakerlease.Request) (a breakerlease.Acquired, err error) {
	err = m.call(ctx, func(now time.Time) {
		e := m.entry(r.Name)
		left := e.until.Sub(now)
		if left > 0 && left <= r.Limit {
			a = breakerlease.Acquired{Token: e.fence, Left: max(left, time.Millisecond), Holder: e.holder, Message: e.message}
			return
		}
		e.fence.Number++
		e.holder, e.until, e.message = r.Holder, now.Add(r.TTL), ""
		a = breakerlease.Acquired{Granted: true, Token: e.fence, Holder: r.Holder, Replaced: left > r.Limit}
	})
	return a, err
}

// Renew implements breakerlease.Store.
func (m *Memory) Renew(ctx context.Context, name string, t breakerlease.Token, ttl time.Duration) (mine bool, err error) {
	err = m.call(ctx, func(now time.Time) {
		e := m.entry(name)
		if mine = e.fence == t && e.until.After(now); mine {
			e.until = now.Add(ttl)
		}
	})
	return mine, err
}

// End implements breakerlease.Store.
func (m *Memory) End(ctx context.Context, name string, t breakerlease.Token, ending breakerlease.Ending) error {
	return m.call(ctx, func(now time.Time) {
		e := m.entry(name)
		if e.fence != t {
			return
		}
		if left := e.until.Sub(now); left > 0 {
			switch {
			case ending.Release:
				e.until = time.Time{}
			case ending.Most > 0:
				e.until = now.Add(max(min(left, ending.Most), ending.Least))
			}
		}
		if ending.Message != "" {
			e.message = ending.Message
			m.send(ending.Message)
		}
	})
}

// Publish implements breakerlease.Store.
func (m *Memory) Publish(ctx context.Context, message string) error {
	return m.call(ctx, func(time.Time) { m.send(message) })
}

func (m *Memory) send(message string) {
	for l := range m.listeners {
		select {
		case l.heard <- message:
		default: // a slow listener loses messages
		}
	}
}

// Listen implements breakerlease.Store.
func (m *Memory) Listen(ctx context.Context, listening func(), heard func(string)) error {
	l := &listener{heard: make(chan string, 64), cut: make(chan struct{})}
	err := m.call(ctx, func(time.Time) {
		if m.listeners == nil {
			m.listeners = map[*listener]struct{}{}
		}
		m.listeners[l] = struct{}{}
	})
	if err != nil {
		return err
	}
	defer m.set(func() { delete(m.listeners, l) })
	listening()
	for {
		select {
		case text := <-l.heard:
			heard(text)
		case <-l.cut:
			return errors.New("leasetest: the connection was cut")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Warm implements breakerlease.Store.
func (m *Memory) Warm(ctx context.Context) error { return m.call(ctx, func(time.Time) {}) }
