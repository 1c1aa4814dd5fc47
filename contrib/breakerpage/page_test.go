package breakerpage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// rig is a page of breakers on a clock that stands still. It reads only when a
// test samples.
type rig struct {
	*testing.T
	breakerwatch.Watch
	clock *clock.Manual
	page  *Page
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{T: t, clock: new(clock.Manual)}
	if o.Interval == 0 {
		o.Interval = time.Minute
	}
	page, err := New(&r.Watch, &o)
	require.NoError(t, err)
	t.Cleanup(page.Close)
	r.page = page
	return r
}

func (r *rig) made(name string) *atomicbreaker.Breaker {
	r.Helper()
	b := atomicbreaker.MustNew(r.Config(atomicbreaker.Config{
		Name: name, Clock: r.clock, ConsecutiveFailures: 1,
		Cooldown: atomicbreaker.Cooldown{Min: 10 * time.Second, Jitter: atomicbreaker.Off},
	}))
	require.NoError(r, r.Add(b))
	return b
}

func (r *rig) call(b *atomicbreaker.Breaker, o atomicbreaker.Outcome) {
	r.Helper()
	ticket, err := b.Acquire()
	require.NoError(r, err)
	ticket.Report(o)
}

func (r *rig) turnedAway(b *atomicbreaker.Breaker) {
	r.Helper()
	_, err := b.Acquire()
	require.Error(r, err)
}

// message is what a viewer is sent.
type message struct {
	Whole   bool
	Tick    uint64
	Now     int64
	Points  int
	Names   map[int]string
	Rows    [][]int64
	Rises   [][]int64
	Gone    []int
	Events  [][]any
	Outages [][]any
	Audit   [][]any
	Held    [][]any
	Clashes, Unrecorded,
	Interval, Next int
}

// columns are the places of a row's fields.
const (
	atID = iota
	atState
	atMode
	atReason
	atSince
	atCalls
	atFailures
	atSlow
	atSucceeded
	atFailed
	atRefused
	atOpened
	atOpenBefore
	atUntil
	atInFlight
	atWindow
	atUnprobed
	atProbesOK
	atProbesBad
	atLastOutcome
	atLastRefusal
	atWould
	atOutage
	atRule
	atReopened
	atLately
	atWaiting
	atAlone
	atMembers
	atNear
	atUsual
	atHigh
	atErrorKind
	allColumns
)

func (r *rig) decoded(text []byte) message {
	r.Helper()
	var m message
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(r, decoder.Decode(&m), "%s", text)
	for _, row := range m.Rows {
		require.Len(r, row, allColumns)
	}
	return m
}

// whole is what a page that is opened now is sent.
func (r *rig) whole() message {
	r.page.mu.Lock()
	defer r.page.mu.Unlock()
	return r.decoded(r.page.whole())
}

// next reads the breakers and returns what open pages are sent.
func (r *rig) next() message {
	r.page.sample()
	r.page.mu.Lock()
	defer r.page.mu.Unlock()
	return r.decoded(r.page.tick())
}

func (r *rig) get(query string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	r.page.ServeHTTP(rec, httptest.NewRequest("GET", "/debug/breakers/"+query, nil))
	return rec
}

// TestOnlyChangesAreSent goes through an outage as an open page sees it.
func TestOnlyChangesAreSent(t *testing.T) {
	r := newRig(t, Options{})
	b := r.made("b")
	r.made("calm")
	m := r.next()
	require.False(t, m.Whole)
	require.Len(t, m.Rows, 2)
	require.Equal(t, map[int]string{1: "b", 2: "calm"}, m.Names)
	require.Empty(t, r.next().Rows, "nothing has changed")

	r.call(b, atomicbreaker.Success)
	m = r.next()
	require.Equal(t, [][]int64{{1, 1, 0, 0, 0}}, m.Rises)
	require.Empty(t, m.Names)
	require.Len(t, m.Rows, 1)
	require.EqualValues(t, 1, m.Rows[0][atCalls])

	r.call(b, atomicbreaker.Failure)
	r.turnedAway(b)
	r.turnedAway(b)
	m = r.next()
	row := m.Rows[0]
	require.Equal(t, [][]int64{{1, 0, 1, 2, 0}}, m.Rises)
	require.EqualValues(t, atomicbreaker.StateOpen, row[atState])
	require.EqualValues(t, atomicbreaker.ReasonStreak, row[atReason])
	require.InDelta(t, m.Now+10_000, row[atUntil], 1000)
	require.Len(t, m.Events, 1)
	require.Equal(t, "b", m.Events[0][2])
	require.Empty(t, r.next().Rows, "an open breaker that nobody asks stands still, its cooldown too")

	r.clock.Advance(10 * time.Second)
	m = r.next()
	require.EqualValues(t, atomicbreaker.StateHalfOpen, m.Rows[0][atState])
	require.EqualValues(t, 1, m.Rows[0][atUnprobed])
	require.Zero(t, m.Rows[0][atUntil])
	r.call(b, atomicbreaker.Success)
	r.call(b, atomicbreaker.Failure)
	row = r.next().Rows[0]
	require.Equal(t, []int64{1, 1, 0}, []int64{row[atProbesOK], row[atProbesBad], row[atUnprobed]})
	require.EqualValues(t, 10_000, row[atOpenBefore])

	r.Remove(b)
	require.Equal(t, []int{1}, r.next().Gone)
	require.Equal(t, map[int]string{2: "calm"}, r.whole().Names)
	m = r.next()
	require.Empty(t, m.Gone)
	require.Len(t, r.whole().Events, 2)
}

// TestProbesAreThoseOfTheEpisode: what an earlier one found does not count.
func TestProbesAreThoseOfTheEpisode(t *testing.T) {
	r := newRig(t, Options{})
	b := r.made("b")
	r.call(b, atomicbreaker.Failure)
	for range 3 {
		r.page.sample()
		r.clock.Advance(b.RetryAfter())
		r.call(b, atomicbreaker.Failure) // reopens
	}
	r.page.sample()
	r.clock.Advance(b.RetryAfter())
	r.call(b, atomicbreaker.Success)
	r.call(b, atomicbreaker.Success)
	row := r.next().Rows[0]
	require.Equal(t, []int64{2, 0}, []int64{row[atProbesOK], row[atProbesBad]})
}

// TestHistory compares what is told of the past with what happened, while the
// ring goes round.
func TestHistory(t *testing.T) {
	r := newRig(t, Options{Points: 10})
	r.page.sample() // before there is a breaker
	b := r.made("b")
	r.made("calm")
	r.next()
	type sample struct{ ok, failed, refused, state int64 }
	want := []sample{{}}
	for n := range int64(25) {
		for range n % 3 {
			r.call(b, atomicbreaker.Success)
		}
		s := sample{ok: n % 3}
		if n == 20 {
			r.call(b, atomicbreaker.Failure)
			r.turnedAway(b)
			s.failed, s.refused, s.state = 1, 1, int64(atomicbreaker.StateOpen)
			want = append(want, s)
			r.next()
			b.Reset()
			s = sample{}
		}
		want = append(want, s)
		tick := r.next().Tick
		var got struct {
			Tick uint64
			Rows map[int][]int64
		}
		require.NoError(t, json.Unmarshal(r.get("?history=1,2,77,x").Body.Bytes(), &got))
		require.Equal(t, tick, got.Tick)
		require.Len(t, got.Rows, 2)
		for id, points := range got.Rows {
			first := points[0]
			require.Equal(t, max(3, int64(tick)-9), first, "since the breaker was first read, at most 10 points")
			require.Len(t, points, 1+4*int(int64(tick)-first+1))
			for at := first; at <= int64(tick); at++ {
				p := points[1+4*(at-first):]
				expected := want[at-3]
				if id == 2 {
					expected = sample{}
				}
				require.Equal(t, expected, sample{p[0], p[1], p[2], p[3]}, "tick %d of breaker %d", at, id)
			}
		}
	}
	line := r.page.board.rows["calm"]
	require.Nil(t, line.history, "memory for a breaker of which there is nothing to draw")
	require.NotNil(t, r.page.board.rows["b"].history)
	for range 10 {
		r.next()
	}
	require.Nil(t, r.page.board.rows["b"].history, "memory for one that has been calm for all the points")
	require.Equal(t, http.StatusBadRequest, r.get("?history="+strings.Repeat("1,", maxHistories)+"1").Code)
}

// hostile are names that a page might take for something else.
var hostile = []string{
	`<img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `"><svg onload=alert(1)>`, "a\u2028b\u2029c", `\u003cscript\u003e`,
	`__proto__`, `constructor`, "\u202eevil", `{{.Title}}`, `'";--`, "&lt;b&gt;", strings.Repeat("long", 64),
}

// TestNamesAreData in every form that the page has.
func TestNamesAreData(t *testing.T) {
	r := newRig(t, Options{Title: hostile[1]})
	for _, name := range hostile {
		r.made(name).Trip()
	}
	r.page.sample()
	names := map[string]bool{}
	for _, name := range r.whole().Names {
		names[name] = true
	}
	for _, name := range hostile {
		require.True(t, names[name], name)
	}
	r.page.mu.Lock()
	stream := event(r.page.whole())
	r.page.mu.Unlock()
	require.Equal(t, 1, bytes.Count(stream, []byte("\n\n")), "an event ends within itself")
	require.NotContains(t, string(stream), "<")

	page := r.get("").Body.String()
	require.NotContains(t, page, hostile[1])
	require.NotContains(t, page, "<script>")
	var all jsonPage
	require.NoError(t, json.Unmarshal(r.get("?format=json").Body.Bytes(), &struct {
		Breakers *[]struct{ Name string }
		Events   *[]jsonEvent
	}{nil, &all.Events}))
	require.Len(t, all.Events, len(hostile))
	text := r.get("?format=text").Body.String()
	require.Equal(t, len(hostile)+1, strings.Count(text, "\n"))
	require.NotContains(t, text, "\u202e", "turns the line around")

	detail := r.get("?breaker=" + url.QueryEscape(hostile[0]))
	require.Equal(t, http.StatusOK, detail.Code)
	require.Contains(t, detail.Header().Get("Content-Type"), "application/json")
	require.Equal(t, http.StatusNotFound, r.get("?breaker=%3Cscript%3E").Code)
	require.Contains(t, r.get("?breaker=%3Cscript%3E").Header().Get("Content-Type"), "text/plain")
}

func TestForms(t *testing.T) {
	r := newRig(t, Options{})
	b := r.made("stock")
	r.call(b, atomicbreaker.Failure)
	r.turnedAway(b)
	r.page.sample()

	var all struct {
		Breakers []atomicbreaker.Snapshot
		Stats    breakerwatch.Stats
		Events   []struct{ Name, From, To, Reason string }
	}
	require.NoError(t, json.Unmarshal(r.get("?format=json").Body.Bytes(), &all))
	require.Equal(t, []atomicbreaker.Snapshot{b.Snapshot()}, all.Breakers)
	require.Equal(t, breakerwatch.Stats{Breakers: 1}, all.Stats)
	require.Equal(t, []struct{ Name, From, To, Reason string }{{"stock", "closed", "open", "streak"}}, all.Events)

	lines := strings.Split(r.get("?format=text").Body.String(), "\n")
	require.Regexp(t, `^BREAKER +STATE +MODE `, lines[0])
	require.Regexp(t, `^stock +open +auto +\S+ +0 calls, 0\.0 % +1 +1 +- +1 `, lines[1])

	require.Equal(t, http.StatusBadRequest, r.get("?format=xml").Code)
	require.Equal(t, http.StatusNotFound, r.get("?asset=../page.go").Code)
	for asset, kind := range assetTypes {
		rec := r.get("?asset=" + asset)
		require.Equal(t, []any{http.StatusOK, kind}, []any{rec.Code, rec.Header().Get("Content-Type")})
		require.NotZero(t, rec.Body.Len())
	}
	for _, query := range []string{"", "?asset=page.js", "?format=json", "?history=1"} {
		h := r.get(query).Header()
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
	}
	empty := newRig(t, Options{})
	require.Contains(t, empty.get("?format=json").Body.String(), `"breakers": []`)
}

// TestNoGETChangesAnything: whatever is asked, and with whatever method that is
// to change nothing.
func TestNoGETChangesAnything(t *testing.T) {
	r := newRig(t, Options{Authorize: func(*http.Request, Command) error { return nil }})
	b := r.made("b")
	before := b.Snapshot()
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, action := range []string{"trip", "reset", "mode&mode=forced-open"} {
			for _, part := range []string{"", "&format=json", "&asset=page.js", "&history=1", "&format=text"} {
				req := httptest.NewRequest(method, "/?breaker=b&action="+action+part, strings.NewReader("breaker=b&action="+action))
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				rec := httptest.NewRecorder()
				r.page.ServeHTTP(rec, req)
				if method != "GET" && method != "HEAD" {
					require.Equal(t, http.StatusMethodNotAllowed, rec.Code)
				}
			}
		}
	}
	require.Equal(t, before, b.Snapshot())
}

func (r *rig) post(form string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", "http://example.com/debug/breakers/?", strings.NewReader(form))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	r.page.ServeHTTP(rec, req)
	return rec
}

func TestCommands(t *testing.T) {
	var asked []Command
	r := newRig(t, Options{Hosts: []string{"example.com"}, Audit: func(Entry) {}, Authorize: func(req *http.Request, c Command) error {
		asked = append(asked, c)
		if req.Header.Get("User") != "ann" {
			return errors.New("only ann may")
		}
		return nil
	}})
	b := r.made("a&b")
	r.page.sample()
	ann := []string{"User", "ann", "Sec-Fetch-Site", "same-origin"}
	for _, c := range []struct {
		form  string
		state atomicbreaker.State
		mode  atomicbreaker.Mode
		asked Command
	}{
		{"breaker=a%26b&reason=drill&action=trip", atomicbreaker.StateOpen, atomicbreaker.Auto, Command{"a&b", Trip, 0, "drill", 0}},
		{"breaker=a%26b&reason=drill&action=reset", atomicbreaker.StateClosed, atomicbreaker.Auto, Command{"a&b", Reset, 0, "drill", 0}},
		{"breaker=a%26b&reason=drill&action=mode&mode=forced-open&for=1h", atomicbreaker.StateOpen, atomicbreaker.ForcedOpen, Command{"a&b", SetMode, atomicbreaker.ForcedOpen, "drill", time.Hour}},
		{"breaker=a%26b&reason=drill&action=mode&mode=auto", atomicbreaker.StateHalfOpen, atomicbreaker.Auto, Command{"a&b", SetMode, atomicbreaker.Auto, "drill", 0}},
	} {
		asked = nil
		rec := r.post(c.form, ann...)
		require.Equal(t, http.StatusNoContent, rec.Code, rec.Body)
		require.Equal(t, c.state, b.State())
		require.Equal(t, c.mode, b.Snapshot().Mode)
		require.Equal(t, []Command{c.asked}, asked)
		require.EqualValues(t, c.state, r.whole().Rows[0][atState], "it does not show at once")
	}

	asked = nil
	before := b.Snapshot()
	for form, want := range map[string]struct {
		code int
		text string
	}{
		"breaker=a%26b&action=explode":            {400, `unknown action "explode", want trip, reset or mode`},
		"breaker=a%26b&action=mode&mode=sideways": {400, `unknown mode "sideways"`},
		"action=trip":                                                                              {400, "no breaker is named"},
		"breaker=zz&reason=x&action=trip":                                                          {404, `no breaker named "zz"`},
		"action=trip&breaker=%zz":                                                                  {400, "not a form"},
		"action=trip&breaker=" + long(maxForm):                                                     {400, "not a form"},
		"breaker=a%26b&action=mode":                                                                {400, "unknown mode"},
		"breaker=a%26b":                                                                            {400, "unknown action"},
		"breaker=a%26b&action=trip":                                                                {400, "reason is empty"},
		"breaker=a%26b&action=trip&reason=+":                                                       {400, "reason is empty"},
		"breaker=a%26b&action=trip&reason=%e2%80%aex":                                              {400, "cannot be seen"},
		"breaker=a%26b&action=trip&reason=%ff":                                                     {400, "cannot be seen"},
		"breaker=a%26b&action=trip&reason=" + long(201):                                            {400, "reason has 201 bytes, want 1 to 200"},
		"breaker=a%26b&action=trip&reason=x&for=1h":                                                {400, "trip and reset do not last"},
		"breaker=a%26b&action=mode&mode=forced-open&reason=x":                                      {400, `for is "", want 1s to 168h0m0s, or forever`},
		"breaker=a%26b&action=mode&mode=forced-open&reason=x&for=169h":                             {400, `for is "169h"`},
		"breaker=a%26b&action=mode&mode=shadow&reason=x&for=-1h":                                   {400, `for is "-1h"`},
		"breaker=a%26b&action=mode&mode=auto&reason=x&for=1h":                                      {400, "auto has no end"},
		"action=explode&reason=" + strings.Repeat("&breaker=x", 201):                               {400, "201 breakers are named"},
		"action=trip&reason=x&breaker=a%26b&breaker=zz":                                            {404, `no breaker named "zz"`},
		"action=trip&reason=x&breaker=a%26b&" + strings.Repeat("breaker=a%26b&", 3) + "breaker=zz": {404, "no breaker"},
		"breaker=a%26b&reason=x&action=trip&x=" + long(100):                                        {403, "not allowed: only ann may"},
	} {
		header := ann
		if want.code == 403 {
			header = []string{"Sec-Fetch-Site", "same-origin"}
		}
		rec := r.post(form, header...)
		require.Equal(t, want.code, rec.Code, form)
		require.Contains(t, rec.Body.String(), want.text)
	}
	require.Equal(t, before, b.Snapshot())
}

func long(n int) string { return strings.Repeat("x", n) }

// TestCommandsOfOtherPagesAreRefused before anybody is asked.
func TestCommandsOfOtherPagesAreRefused(t *testing.T) {
	r := newRig(t, Options{Hosts: []string{"example.com"}, Authorize: func(*http.Request, Command) error {
		t.Error("was asked")
		return nil
	}})
	b := r.made("b")
	before := b.Snapshot()
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"}, {"Origin", "null"},
		{"Origin", "http://example.com:8080"},
	} {
		rec := r.post("breaker=b&action=trip", header...)
		require.Equal(t, http.StatusForbidden, rec.Code)
		require.Contains(t, rec.Body.String(), "other origins")
	}
	readOnly := newRig(t, Options{Hosts: []string{"example.com"}})
	readOnly.made("b")
	rec := readOnly.post("breaker=b&action=trip")
	require.Equal(t, http.StatusForbidden, rec.Code)
	require.Contains(t, rec.Body.String(), "read-only")
	require.Contains(t, readOnly.get("").Body.String(), "&#34;writable&#34;:false")
	require.Equal(t, before, b.Snapshot())
}

// open opens the page's stream over a real server and returns a function that
// reads the next message.
func (r *rig) open(url string) (next func() message, leave func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", url+"?stream", nil)
	require.NoError(r, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r, err)
	require.Equal(r, http.StatusOK, resp.StatusCode)
	require.Equal(r, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewReader(resp.Body)
	return func() message {
			for {
				line, err := lines.ReadString('\n')
				require.NoError(r, err)
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					return r.decoded([]byte(data))
				}
			}
		}, func() {
			cancel()
			resp.Body.Close()
		}
}

func TestStream(t *testing.T) {
	r := newRig(t, Options{Viewers: 2})
	server := httptest.NewServer(r.page)
	defer server.Close()
	defer server.CloseClientConnections()
	b := r.made("b")
	r.page.sample()
	one, leaveOne := r.open(server.URL)
	two, leaveTwo := r.open(server.URL)
	defer leaveTwo()
	for _, next := range []func() message{one, two} {
		m := next()
		require.True(t, m.Whole)
		require.Equal(t, map[int]string{1: "b"}, m.Names)
		require.Equal(t, 180, m.Points)
	}
	resp, err := http.Get(server.URL + "?stream")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, "5", resp.Header.Get("Retry-After"))
	resp.Body.Close()

	b.Trip()
	r.page.sample()
	for _, next := range []func() message{one, two} {
		m := next()
		require.False(t, m.Whole)
		require.EqualValues(t, atomicbreaker.StateOpen, m.Rows[0][atState])
	}
	leaveOne()
	require.Eventually(t, func() bool {
		r.page.mu.Lock()
		defer r.page.mu.Unlock()
		return len(r.page.viewers) == 1
	}, 5*time.Second, time.Millisecond, "a viewer that has left is kept")
	three, leaveThree := r.open(server.URL)
	defer leaveThree()
	require.True(t, three().Whole)

	r.page.Close()
	r.page.Close()
	for range 3 { // what is still under way, and then the end
		resp, err := http.Get(server.URL + "?stream")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err, "a stream goes on after Close")
		resp.Body.Close()
	}
}

// TestAViewerThatIsSlowMissesReadings and is then sent everything.
func TestAViewerThatIsSlowMissesReadings(t *testing.T) {
	r := newRig(t, Options{})
	r.made("b")
	r.page.sample()
	v := r.page.enter("", time.Now())
	for range 10 {
		r.page.sample()
	}
	var got []message
	for len(v.out) > 0 {
		got = append(got, r.decoded([]byte(strings.TrimPrefix(string(<-v.out), "data: "))))
	}
	require.Len(t, got, cap(v.out))
	require.True(t, got[0].Whole)
	require.False(t, got[len(got)-1].Whole)
	last := got[len(got)-1].Tick
	r.page.sample()
	m := r.decoded([]byte(strings.TrimPrefix(string(<-v.out), "data: ")))
	require.True(t, m.Whole)
	require.Greater(t, m.Tick, last+1)
	r.page.sample()
	m = r.decoded([]byte(strings.TrimPrefix(string(<-v.out), "data: ")))
	require.False(t, m.Whole)
}

// TestEveryTextIsSent: the script gets states, modes, reasons and kinds as numbers.
func TestEveryTextIsSent(t *testing.T) {
	for what, unknown := range map[string]error{
		"states":  second(atomicbreaker.State(len(words["states"])).MarshalText()),
		"modes":   second(atomicbreaker.Mode(len(words["modes"])).MarshalText()),
		"reasons": second(atomicbreaker.Reason(len(words["reasons"])).MarshalText()),
		"kinds":   second(breakerwatch.Kind(len(words["kinds"])).MarshalText()),
	} {
		require.Error(t, unknown, "there are more %s than the page knows", what)
	}
}

func second[T any](_ T, err error) error { return err }

func TestMisuseIsAnError(t *testing.T) {
	var w breakerwatch.Watch
	_, err := New(nil, nil)
	require.ErrorContains(t, err, "nil Watch")
	_, err = New(&w, &Options{Interval: time.Millisecond, Points: 5, Viewers: -1, Hosts: []string{"ok.example", "http://x", ""}})
	for _, want := range []string{`Hosts[1], "http://x", must be a name alone`, `Hosts[2], "", is empty`, "Interval is 1ms, want 100ms to 1m", "Points is 5, want 10 to 1000", "Viewers is -1, want 1 to 1000"} {
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkSample(b *testing.B) {
	for _, busy := range []bool{false, true} {
		b.Run(fmt.Sprintf("breakers=10000/busy=%v", busy), func(b *testing.B) {
			var w breakerwatch.Watch
			var all []*atomicbreaker.Breaker
			for i := range 10_000 {
				all = append(all, atomicbreaker.MustNew(w.Config(atomicbreaker.Config{Name: fmt.Sprint("breaker ", i)})))
			}
			if err := w.Add(all...); err != nil {
				b.Fatal(err)
			}
			page, err := New(&w, &Options{Interval: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			defer page.Close()
			v := page.enter("", time.Now())
			b.ReportAllocs()
			for b.Loop() {
				if busy {
					b.StopTimer()
					for _, c := range all {
						ticket, _ := c.Acquire()
						ticket.Report(atomicbreaker.Success)
					}
					b.StartTimer()
				}
				page.sample()
				<-v.out
			}
		})
	}
}
