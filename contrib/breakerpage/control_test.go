package breakerpage

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// TestTheHostIsChecked: a page of another site whose name resolves to this
// server's address is of the same origin for the browser. Its commands never
// reach Authorize.
func TestTheHostIsChecked(t *testing.T) {
	asked := 0
	allow := func(*http.Request, Command) error { asked++; return nil }
	for _, c := range []struct {
		hosts          []string
		host           string
		looks, command bool
	}{
		{nil, "127.0.0.1:8080", true, true},
		{nil, "[::1]:8080", true, true},
		{nil, "[::1]", true, true},
		{nil, "localhost:8080", true, true},
		{nil, "LOCALHOST.", true, true},
		{nil, "x.localhost:1", true, true},
		{nil, "evil.example:8080", true, false},
		{nil, "127.0.0.1.evil.example", true, false},
		{nil, "localhost.evil.example", true, false},
		{nil, "evillocalhost", true, false},
		{nil, "", true, false},
		{[]string{"Ops.example"}, "ops.example:8443", true, true},
		{[]string{"ops.example"}, "OPS.EXAMPLE.", true, true},
		{[]string{"ops.example"}, "10.1.2.3:80", true, true},
		{[]string{"ops.example"}, "evil.example", false, false},
		{[]string{"ops.example"}, "x.ops.example", false, false},
		{[]string{"ops.example"}, "ops.example.evil.example", false, false},
		{[]string{"ops.example"}, "ops.example@evil.example", false, false},
	} {
		r := newRig(t, Options{Hosts: c.hosts, Authorize: allow, Audit: func(Entry) {}})
		b := r.made("b")
		r.page.sample()
		asked = 0
		send := func(method, query, form string) int {
			req := httptest.NewRequest(method, "/debug/breakers/"+query, strings.NewReader(form))
			req.Host = c.host
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Origin", "http://"+c.host)
			req.Header.Set("Sec-Fetch-Site", "same-origin")
			rec := httptest.NewRecorder()
			r.page.ServeHTTP(rec, req)
			return rec.Code
		}
		for _, query := range []string{"", "?format=json", "?format=text", "?breaker=b", "?state", "?export", "?history=1"} {
			require.Equal(t, c.looks, send("GET", query, "") == http.StatusOK, "%s as %q of %v", query, c.host, c.hosts)
		}
		code := send("POST", "", "breaker=b&action=trip&reason=x")
		if c.command {
			require.Equal(t, http.StatusNoContent, code, c.host)
			require.Equal(t, 1, asked)
		} else {
			require.Equal(t, http.StatusForbidden, code, c.host)
			require.Zero(t, asked, "Authorize was asked")
			require.Equal(t, atomicbreaker.StateClosed, b.State())
		}
	}
}

// TestAModeEndsByItself, back to the mode of before, and all of it is audited.
func TestAModeEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var audit []Entry
		r := newRig(t, Options{
			Hosts: []string{"example.com"}, Authorize: func(*http.Request, Command) error { return nil },
			User:  func(req *http.Request) string { return req.Header.Get("User") + "\u202e" },
			Audit: func(e Entry) { mu.Lock(); defer mu.Unlock(); audit = append(audit, e) },
		})
		b := r.made("b")
		b.SetMode(atomicbreaker.Shadow)
		r.page.sample()
		mode := func() atomicbreaker.Mode { return b.Snapshot().Mode }
		do := func(form string) {
			t.Helper()
			rec := r.post("breaker=b&reason=drill&"+form, "User", "ann")
			require.Equal(t, http.StatusNoContent, rec.Code, rec.Body)
		}
		start := time.Now()
		do("action=mode&mode=forced-open&for=1h")
		require.Equal(t, atomicbreaker.ForcedOpen, mode())
		m := r.whole()
		require.Equal(t, [][]any{{1.0, `ann\u202e`, "drill", float64(start.Add(time.Hour).UnixMilli())}}, m.Held)
		require.Len(t, m.Audit, 1)
		time.Sleep(30 * time.Minute)
		do("action=mode&mode=forced-closed&for=1h") // in its place; Shadow is still what it goes back to
		time.Sleep(59 * time.Minute)
		require.Equal(t, atomicbreaker.ForcedClosed, mode(), "the end of an earlier command")
		time.Sleep(2 * time.Minute)
		require.Equal(t, atomicbreaker.Shadow, mode())
		require.Empty(t, r.next().Held)
		want := Entry{
			Number: 3, Time: start.Add(90 * time.Minute), User: `ann\u202e`, From: "192.0.2.1:1234", Breaker: "b",
			Action: SetMode, Mode: atomicbreaker.Shadow, Reason: "drill", Result: "ended",
		}
		mu.Lock()
		require.Len(t, audit, 3)
		require.Equal(t, want, audit[2])
		require.Equal(t, "done", audit[0].Result)
		require.Equal(t, start.Add(time.Hour), audit[0].Until)
		mu.Unlock()

		do("action=mode&mode=forced-open&for=1h")
		b.SetMode(atomicbreaker.Auto) // by the program
		require.Empty(t, r.next().Held)
		b.SetMode(atomicbreaker.ForcedClosed)
		time.Sleep(2 * time.Hour)
		require.Equal(t, atomicbreaker.ForcedClosed, mode(), "the end undid what the program has set")

		do("action=mode&mode=forced-open&for=1h")
		r.page.Close()
		time.Sleep(2 * time.Hour)
		require.Equal(t, atomicbreaker.ForcedClosed, mode(), "the end does not come once the page is closed")
		do("action=mode&mode=shadow&for=forever")
		time.Sleep(200 * time.Hour)
		require.Equal(t, atomicbreaker.Shadow, mode())
		require.NotEmpty(t, r.next().Held)
		r.Remove(b)
		r.page.sample()
		require.Empty(t, r.page.holds.of, "kept of a breaker that is gone")
	})
}

// TestASelectionIsCommandedAsOne or not at all, and refusals are audited.
func TestASelectionIsCommandedAsOne(t *testing.T) {
	var audit []Entry
	r := newRig(t, Options{
		Hosts: []string{"example.com"}, Audit: func(e Entry) { audit = append(audit, e) },
		Authorize: func(_ *http.Request, c Command) error {
			if c.Breaker == "precious" {
				return errors.New("it is precious\n")
			}
			return nil
		},
	})
	one, two, precious := r.made("one"), r.made("two"), r.made("precious")
	r.page.sample()
	form := "action=trip&reason=drill&breaker=one&breaker=two"
	require.Equal(t, http.StatusForbidden, r.post(form+"&breaker=precious").Code)
	for _, b := range []*atomicbreaker.Breaker{one, two, precious} {
		require.Equal(t, atomicbreaker.StateClosed, b.State())
	}
	require.Len(t, audit, 1)
	require.Equal(t, `refused: it is precious\n`, audit[0].Result)
	require.Equal(t, "precious", audit[0].Breaker)

	req := url.Values{"action": {"trip"}, "reason": {"drill"}, "breaker": {"one", "two", "one"}}
	require.Equal(t, http.StatusNoContent, r.post(req.Encode(), "Authorization", "Basic YW5uOnNlY3JldA==").Code)
	require.Equal(t, atomicbreaker.StateOpen, one.State())
	require.Equal(t, atomicbreaker.StateOpen, two.State())
	require.Len(t, audit, 3)
	require.Equal(t, "ann", audit[1].User, "the user of basic authentication")
	require.NotContains(t, r.get("?format=json").Body.String(), "secret")

	for range maxEntries {
		r.post("action=reset&reason=x&breaker=one")
	}
	entries := r.page.holds.since(0)
	require.Len(t, entries, maxEntries)
	require.EqualValues(t, maxEntries+3, entries[maxEntries-1].Number)
}

// TestAStreamThatIsNotHeardOfMakesRoom, and one that is does not.
func TestAStreamThatIsNotHeardOfMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Viewers: 2})
		deaf, live := r.page.enter("", time.Now()), r.page.enter("key", time.Now())
		require.NotNil(t, deaf)
		require.NotNil(t, live)
		require.Nil(t, r.page.enter("new", time.Now()))
		for range 4 {
			time.Sleep(15 * time.Second)
			require.Equal(t, http.StatusNoContent, r.get("?alive=key").Code)
			r.get("?alive=")
		}
		require.NotNil(t, r.page.enter("new", time.Now()))
		select {
		case <-deaf.ended:
		default:
			t.Error("the deaf one goes on")
		}
		require.Nil(t, r.page.enter("newer", time.Now()), "a live one had to go")
		select {
		case <-live.ended:
			t.Error("a live one was ended")
		default:
		}
		r.page.leave(deaf) // as its request does
		require.Len(t, r.page.viewers, 2)
		require.True(t, r.decoded(r.get("?state").Body.Bytes()).Whole, "who finds no room can ask")
	})
}

// TestAnOutageStaysOnThePage however often it is probed.
func TestAnOutageStaysOnThePage(t *testing.T) {
	r := newRig(t, Options{})
	b := r.made("b")
	r.call(b, atomicbreaker.Failure)
	began := time.Now().UnixMilli()
	for range 700 {
		r.clock.Advance(b.RetryAfter())
		r.call(b, atomicbreaker.Failure)
	}
	m := r.next()
	require.InDelta(t, began, m.Rows[0][atOutage], 1000)
	require.EqualValues(t, atomicbreaker.ReasonStreak, m.Rows[0][atRule])
	require.EqualValues(t, 700, m.Rows[0][atReopened])
	require.EqualValues(t, 1, m.Rows[0][atLately])
	require.Contains(t, r.get("?format=text").Body.String(), " streak")
	b.Reset()
	m = r.next()
	require.Zero(t, m.Rows[0][atOutage])
	require.Len(t, m.Outages, 1)
	require.Equal(t, "b", m.Outages[0][1])
	require.Empty(t, r.next().Outages)
	require.Len(t, r.whole().Outages, 1)
	var all struct{ Outages []struct{ Reopened int } }
	require.NoError(t, json.Unmarshal(r.get("?format=json").Body.Bytes(), &all))
	require.Equal(t, 700, all.Outages[0].Reopened)
}

// TestThePastOfAnHour is added up in slots, and given up when nothing is in it.
func TestThePastOfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Interval: time.Minute})
		b := r.made("b")
		r.page.sample()
		r.call(b, atomicbreaker.Success)
		r.page.sample()
		r.call(b, atomicbreaker.Failure)
		r.turnedAway(b)
		r.page.sample()
		time.Sleep(30 * time.Minute)
		b.Reset()
		r.page.sample()
		var got struct{ Hour *jsonHour }
		ask := func() {
			got.Hour = nil
			require.NoError(t, json.Unmarshal(r.get("?breaker=b").Body.Bytes(), &got))
		}
		ask()
		require.Equal(t, hourSlot, got.Hour.Every)
		require.Equal(t, []uint32{1, 1, 1, uint32(atomicbreaker.StateOpen)}, []uint32{got.Hour.OK[0], got.Hour.Failed[0], got.Hour.Refused[0], got.Hour.States[0]})
		require.Len(t, got.Hour.OK, 91)
		export := r.get("?export")
		require.Regexp(t, `^attachment; filename="breakers-\d{8}T\d{6}Z\.json"$`, export.Header().Get("Content-Disposition"))
		require.Contains(t, export.Body.String(), `"hours": {`)
		r.call(b, atomicbreaker.Success)
		r.page.sample()
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		ask()
		require.Len(t, got.Hour.OK, hourSlots)
		total := uint32(0)
		for _, n := range got.Hour.OK {
			total += n
		}
		require.EqualValues(t, 1, total, "calls of more than an hour ago are counted")
		time.Sleep(time.Hour)
		synctest.Wait()
		ask()
		require.Nil(t, got.Hour)
	})
}

// TestShadowRefusesNobody on the page either.
func TestShadowRefusesNobody(t *testing.T) {
	r := newRig(t, Options{})
	b := r.made("b")
	b.SetMode(atomicbreaker.Shadow)
	b.Trip()
	r.page.sample()
	r.call(b, atomicbreaker.Success)
	m := r.next()
	require.Equal(t, [][]int64{{1, 1, 0, 0, 1}}, m.Rises)
	require.Zero(t, m.Rows[0][atRefused])
	require.EqualValues(t, 1, m.Rows[0][atWould])
}

// TestErrorsAreOnThePage by their kind, and their text is data.
func TestErrorsAreOnThePage(t *testing.T) {
	r := newRig(t, Options{})
	r.made("b")
	r.page.sample()
	r.Failure("b", breakerwatch.KindRefused, errors.New("<script>\u202e"))
	m := r.next()
	require.EqualValues(t, breakerwatch.KindRefused+1, m.Rows[0][atErrorKind])
	for _, form := range []string{"?breaker=b", "?format=json", "?format=text", "?export"} {
		text := r.get(form).Body.String()
		require.Contains(t, text, "refused", form)
		require.NotContains(t, text, "\u202e")
	}
}
