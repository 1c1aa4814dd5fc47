package breakercaddy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// withAdmin runs Caddy with a site and its admin API, and returns a client of it.
func withAdmin(t *testing.T, site string) func(method, path string) (int, string) {
	t.Helper()
	config, err := adapt(t, site)
	if err != nil {
		t.Fatal(err)
	}
	admin := freeAddr()
	with := bytes.Replace(config, []byte(`"disabled":true`), []byte(`"listen":"`+admin+`"`), 1)
	if bytes.Equal(with, config) {
		t.Fatalf("no admin in %s", config)
	}
	loadJSON(t, with)
	return func(method, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, "http://"+admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
}

func TestAdminMetricsAndPage(t *testing.T) {
	u := newUpstream(t)
	ask := withAdmin(t, "route /breakers/* {\natomicbreaker_page\n}\n"+site("name shown\n"+slow, u))
	if got := send(t, "GET", "/", ""); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	name := "shown%20tcp/" + u.addr
	if status, body := ask("GET", "/atomicbreaker/list"); status != 200 || !strings.Contains(body, `"shown tcp/`+u.addr+`"`) || !json.Valid([]byte(body)) {
		t.Errorf("list: %d %s", status, body)
	}
	if status, body := ask("POST", "/atomicbreaker/trip?name="+name); status != 200 || !strings.Contains(body, `"state":"open"`) {
		t.Errorf("trip: %d %s", status, body)
	}
	if got := send(t, "GET", "/", ""); got.status != 503 {
		t.Errorf("after the trip: %+v", got)
	}
	if status, body := ask("GET", "/atomicbreaker/history"); status != 200 || !strings.Contains(body, `"reason":"trip-called"`) {
		t.Errorf("history: %d %s", status, body)
	}
	if status, body := ask("GET", "/metrics"); status != 200 || !strings.Contains(body, `circuitbreaker_state{name="shown tcp/`+u.addr+`",state="open"} 1`) {
		t.Errorf("metrics: %d, no breaker in %d bytes", status, len(body))
	}
	if got := send(t, "GET", "/breakers/?format=json", ""); got.status != 200 || !strings.Contains(got.body, "shown tcp/"+u.addr) {
		t.Errorf("page: %d %.200s", got.status, got.body)
	}
	if status, body := ask("POST", "/atomicbreaker/reset?name="+name); status != 200 || !strings.Contains(body, `"state":"closed"`) {
		t.Errorf("reset: %d %s", status, body)
	}
	if got := send(t, "GET", "/", ""); got.status != 200 {
		t.Errorf("after the reset: %+v", got)
	}
	if status, _ := ask("POST", "/atomicbreaker/mode?mode=forced-open&name="+name); status != 200 {
		t.Errorf("mode: %d", status)
	}
	if got := send(t, "GET", "/", ""); got.status != 503 || got.after != "" {
		t.Errorf("held open: %+v, want 503 without Retry-After", got)
	}
	ask("POST", "/atomicbreaker/mode?mode=auto&name="+name)
	for path, want := range map[string]int{
		"/atomicbreaker/mode?mode=maybe&name=" + name: 400,
		"/atomicbreaker/trip?name=nobody":             404,
		"/atomicbreaker/list":                         405,
	} {
		if status, _ := ask("POST", path); status != want {
			t.Errorf("POST %s: %d, want %d", path, status, want)
		}
	}
	if status, _ := ask("GET", "/atomicbreaker/trip?name="+name); status != 405 {
		t.Errorf("GET trip: %d, want 405", status)
	}
	if status, _ := ask("GET", "/atomicbreaker/history?since=x"); status != 400 {
		t.Errorf("history since x: %d, want 400", status)
	}
}

// TestMetricsSurviveReloads: each configuration has a registry of its own.
func TestMetricsSurviveReloads(t *testing.T) {
	u := newUpstream(t)
	for i := range 3 {
		ask := withAdmin(t, site(fmt.Sprintf("name reload\n%sminimum_calls %d\n", slow, i+5), u)+"\n"+"handle /x {\n"+site("name other\n"+slow, u)+"\n}")
		send(t, "GET", "/", "")
		if _, body := ask("GET", "/metrics"); strings.Count(body, `circuitbreaker_state{name="reload tcp/`+u.addr+`",state="closed"}`) != 1 {
			t.Errorf("load %d: the breaker is not there once", i)
		}
	}
}

func TestZerosInJSONAreRefused(t *testing.T) {
	for fields, want := range map[string]string{
		`"failure_rate":0`:                   "failure_rate is 0",
		`"probes":0,"quiet":"0s"`:            "quiet is 0",
		`"no_such":1`:                        "no_such",
		`"failure_statuses":[7]`:             "failure_statuses has 7",
		`"max_open":-1`:                      "max_open is -1",
		`"cooldown_min":0,"failure_rate":7.`: "",
	} {
		config := `{"admin":{"disabled":true},"apps":{"http":{"servers":{"s":{"listen":["` + front + `"],"routes":[{"handle":[{"handler":"reverse_proxy",
			"upstreams":[{"dial":"127.0.0.1:1"}],"transport":{"protocol":"atomicbreaker",` + fields + `}}]}]}}}}}`
		err := caddy.Load([]byte(config), false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
	caddy.Stop()
}

func TestStatusRanges(t *testing.T) {
	u := newUpstream(t)
	load(t, site("name ranges\nfailure_status 4xx\n"+slow, u))
	u.do(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	for range 3 {
		if got := send(t, "GET", "/", ""); got.status != 418 {
			t.Fatalf("%+v", got)
		}
	}
	if got := send(t, "GET", "/", ""); got.status != 503 {
		t.Errorf("%+v after three failures by 4xx, want a refusal", got)
	}
}

// TestAllSickServesWhatIsPossible: four upstreams that fail 60 % each.
func TestAllSickServesWhatIsPossible(t *testing.T) {
	run := func(name, settings string) (served int) {
		var ups []*upstream
		for range 4 {
			u := newUpstream(t)
			u.do(func(w http.ResponseWriter, _ *http.Request) {
				if rand.Float64() < 0.6 {
					w.WriteHeader(500)
				}
			})
			ups = append(ups, u)
		}
		load(t, site("name "+name+"\n"+slow+settings, ups...))
		for range 600 {
			if send(t, "POST", "/", "").status == 200 {
				served++
			}
		}
		return served
	}
	if served := run("sick", ""); served < 200 { // of 240, less what chance takes
		t.Errorf("%d of 600 served, want 0.9 of 240", served)
	}
	if without := run("sick1", "max_open 1\n"); without > 100 {
		t.Errorf("with max_open 1 it serves %d too: the test tests nothing", without)
	}
}
