package breakerpage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// instances are the pages of processes, by the hosts of their addresses.
type instances map[string]http.Handler

// RoundTrip implements http.RoundTripper.
func (i instances) RoundTrip(r *http.Request) (*http.Response, error) {
	h := i[r.URL.Hostname()]
	if h == nil {
		return nil, fmt.Errorf("nobody is at %s", r.URL.Hostname())
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result(), nil
}

func (f *Fleet) get(query string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1/fleet/"+query, nil))
	return rec
}

type fleetAnswer struct {
	Breakers []fleetRow
	Silent   []silent
}

func (f *Fleet) rows(t *testing.T) (a fleetAnswer) {
	t.Helper()
	rec := f.get("?format=json")
	require.Equal(t, http.StatusOK, rec.Code)
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &a))
	return a
}

// TestAFleetInOneView: per job and name, since when and why, and which differ.
func TestAFleetInOneView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := instances{}
		var sources []Source
		rigs := map[string]*rig{}
		for _, name := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"} {
			r := newRig(t, Options{})
			defer r.page.Close()
			r.made("stock")
			r.made("<script>alert(1)</script>\u202e")
			rigs[name] = r
			all[name] = r.page
			sources = append(sources, Source{"checkout", "i-" + name[7:], "http://user:secret@" + name + ":6060/debug/breakers/"})
		}
		sources = append(sources, Source{"checkout", "i-9", "http://user:secret@10.0.0.9/"}, Source{"checkout", "i-10", "file:///etc/passwd"})
		fleet, err := NewFleet(func() []Source { return sources }, &FleetOptions{Client: &http.Client{Transport: all}})
		require.NoError(t, err)
		rows := fleet.rows(t)
		require.Len(t, rows.Breakers, 2)
		require.Equal(t, 4, rows.Breakers[1].Closed)
		require.Empty(t, rows.Breakers[1].Differ)
		require.Len(t, rows.Silent, 2)
		require.Equal(t, "nobody is at 10.0.0.9", rows.Silent[0].Fault)
		require.Contains(t, rows.Silent[1].Fault, "not one of http or https")

		began := time.Now()
		stock := func(instance string) *atomicbreaker.Breaker {
			for _, r := range rigs[instance].Read(nil) {
				if r.Name == "stock" {
					return r.Breaker
				}
			}
			return nil
		}
		rigs["10.0.0.2"].call(stock("10.0.0.2"), atomicbreaker.Failure)
		rigs["10.0.0.2"].Failure("stock", breakerwatch.KindRefused, nil)
		require.Zero(t, fleet.rows(t).Breakers[1].Open, "asked again at once")
		time.Sleep(6 * time.Second)
		row := fleet.rows(t).Breakers[0]
		require.Equal(t, "stock", row.Name)
		require.Equal(t, 1, row.Open)
		require.True(t, began.Equal(row.Since))
		require.Equal(t, map[string]int{"streak": 1}, row.Reasons)
		require.Equal(t, map[string]int{"refused": 1}, row.Errors)
		require.Equal(t, []differs{{"i-2", "http://10.0.0.2:6060/debug/breakers/", atomicbreaker.StateOpen}}, row.Differ)

		rigs["10.0.0.3"].call(stock("10.0.0.3"), atomicbreaker.Failure)
		stock("10.0.0.1").SetMode(atomicbreaker.ForcedOpen)
		time.Sleep(6 * time.Second)
		row = fleet.rows(t).Breakers[0]
		require.Equal(t, 3, row.Open)
		require.Equal(t, "i-4", row.Differ[0].Instance, "the one that is well is the one that differs")
		require.Equal(t, map[string]int{"forced-open": 1}, row.Modes)

		page := fleet.get("").Body.String()
		require.NotContains(t, page, "<script")
		require.NotContains(t, page, "\u202e")
		for _, secret := range []string{"secret", "file:"} {
			require.NotContains(t, page, secret)
			require.NotContains(t, fleet.get("?format=json").Body.String(), secret)
		}
		require.Contains(t, page, "3 open")
		require.Contains(t, page, "2 of 6 processes gave no answer")
		for i, r := range rigs {
			require.NotNil(t, r, i)
		}
	})
}

// TestAFleetIsAskedNoMoreThanItMust, waits for nobody for long, and reads no
// answer without end.
func TestAFleetIsAskedNoMoreThanItMust(t *testing.T) {
	var asked atomic.Int64
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/hangs":
			<-r.Context().Done()
		case "/long":
			_, _ = w.Write([]byte(`{"breakers":[`))
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat(" ", 1<<16))); err != nil {
					return
				}
			}
		case "/away":
			http.Redirect(w, r, "/inside", http.StatusFound)
		case "/inside":
			t.Error("a redirect was followed")
		default:
			_, _ = w.Write([]byte(`not JSON`))
		}
	})
	server := httptest.NewServer(endless)
	defer server.Close()
	var sources []Source
	for _, path := range []string{"/hangs", "/long", "/away", "/else"} {
		sources = append(sources, Source{"j", path, server.URL + path})
	}
	fleet, err := NewFleet(func() []Source { return sources }, &FleetOptions{Timeout: 300 * time.Millisecond, Interval: time.Minute})
	require.NoError(t, err)
	start := time.Now()
	rows := fleet.rows(t)
	require.Less(t, time.Since(start), 10*time.Second)
	require.Len(t, rows.Silent, 4)
	require.Contains(t, rows.Silent[2].Fault, "status 302")
	for range 20 {
		fleet.get("")
	}
	require.EqualValues(t, 4, asked.Load())
}

// TestAFleetOnlyLooks, and minds its host.
func TestAFleetOnlyLooks(t *testing.T) {
	asked := false
	fleet, err := NewFleet(func() []Source { asked = true; return nil }, &FleetOptions{Hosts: []string{"ops.example"}})
	require.NoError(t, err)
	for method, want := range map[string]int{"POST": 405, "PUT": 405, "DELETE": 405} {
		rec := httptest.NewRecorder()
		fleet.ServeHTTP(rec, httptest.NewRequest(method, "http://ops.example/?format=json", nil))
		require.Equal(t, want, rec.Code)
	}
	rec := httptest.NewRecorder()
	fleet.ServeHTTP(rec, httptest.NewRequest("GET", "http://evil.example/?format=json", nil))
	require.Equal(t, http.StatusForbidden, rec.Code)
	require.False(t, asked)
	require.Equal(t, http.StatusBadRequest, fleet.get("?format=xml").Code)
	require.Contains(t, fleet.get("").Body.String(), "No breaker is known.")
	require.Contains(t, fleet.get("").Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, http.StatusOK, fleet.get("?asset=page.css").Code)

	_, err = NewFleet(nil, nil)
	require.ErrorContains(t, err, "without sources")
	_, err = NewFleet(func() []Source { return nil }, &FleetOptions{Interval: time.Millisecond, Timeout: time.Hour, Hosts: []string{"a/b"}})
	for _, want := range []string{"Interval is 1ms, want 1s to 1m", "Timeout is 1h0m0s, want 100ms to 30s", `Hosts[0], "a/b"`} {
		require.ErrorContains(t, err, want)
	}
}
