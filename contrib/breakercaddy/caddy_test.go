package breakercaddy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/atomicbreaker/breaker/contrib/breakercaddy"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

// front is where the Caddy under test listens.
var front = freeAddr()

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// adapt turns what goes into the site's block into a JSON configuration.
func adapt(t *testing.T, site string) ([]byte, error) {
	t.Helper()
	text := fmt.Sprintf("{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n\tlog {\n\t\tlevel PANIC\n\t}\n}\nhttp://%s {\n%s\n}\n", front, site)
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	return config, err
}

// load runs Caddy with a site, in place of what ran before.
func load(t *testing.T, site string) {
	t.Helper()
	config, err := adapt(t, site)
	if err != nil {
		t.Fatal(err)
	}
	loadJSON(t, config)
}

func loadJSON(t *testing.T, config []byte) {
	t.Helper()
	if err := caddy.Load(config, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { caddy.Stop() })
}

var client = &http.Client{
	Timeout:   10 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true}, // a reload closes idle connections
}

type answer struct {
	status      int
	body, after string
}

func send(t *testing.T, method, path, body string) answer {
	t.Helper()
	var resp *http.Response
	var err error
	for range 3 { // right after a reload the old server may accept a connection, and close it
		req, _ := http.NewRequest(method, "http://"+front+path, strings.NewReader(body))
		if resp, err = client.Do(req); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(text), resp.Header.Get("Retry-After")}
}

// upstream is a backend that can be told what to answer, and be killed and
// started again at its address.
type upstream struct {
	addr   string
	status atomic.Int64
	served atomic.Int64
	handle atomic.Pointer[http.HandlerFunc]
	server *http.Server
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{addr: "127.0.0.1:0"}
	u.status.Store(200)
	u.start(t)
	t.Cleanup(u.kill)
	return u
}

func (u *upstream) start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", u.addr)
	if err != nil {
		t.Fatal(err)
	}
	u.addr = l.Addr().String()
	u.server = &http.Server{Handler: u}
	go u.server.Serve(l)
}

func (u *upstream) kill() { u.server.Close() }

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/health" {
		u.served.Add(1)
	}
	if h := u.handle.Load(); h != nil {
		(*h)(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(int(u.status.Load()))
	fmt.Fprintf(w, "%s%s", u.addr, body)
}

func (u *upstream) do(h http.HandlerFunc) { u.handle.Store(&h) }

// quick are settings with which an outage passes in little real time; with
// the least and the longest cooldown alike it does not grow.
const quick = "consecutive_failures 3\ncooldown 200ms 200ms\n"

// slow are settings with which a breaker stays open for the whole of a test.
const slow = "consecutive_failures 3\ncooldown 1m 1m\n"

func site(settings string, ups ...*upstream) string {
	var addrs []string
	for _, u := range ups {
		addrs = append(addrs, u.addr)
	}
	return fmt.Sprintf("reverse_proxy %s {\nlb_policy atomicbreaker round_robin\nlb_retries 2\ntransport atomicbreaker {\n%s}\n}",
		strings.Join(addrs, " "), settings)
}

// A real Caddy loads the modules from its configuration, and they work there.
//
// Field: S166, caddyserver/caddy commit a507a5bbc (2020-05-01; interface method misspelt for
// months, no one noticed).
func TestDeadUpstreamCausesNoUserErrors(t *testing.T) {
	a, b, c := newUpstream(t), newUpstream(t), newUpstream(t)
	c.kill()
	load(t, site(slow, a, b, c))
	for range 30 {
		if got := send(t, "POST", "/", "!"); got.status != 200 || !strings.HasSuffix(got.body, "!") {
			t.Fatalf("a user got %+v", got)
		}
	}
	if a.served.Load() < 10 || b.served.Load() < 10 {
		t.Errorf("a served %d, b %d; want them to share", a.served.Load(), b.served.Load())
	}
}

func TestAllDeadIs503WithRetryAfterThenRecovers(t *testing.T) {
	a, b := newUpstream(t), newUpstream(t)
	load(t, site(quick, a, b))
	a.kill()
	b.kill()
	var last answer
	for range 10 {
		if last = send(t, "POST", "/", "!"); last.status == 503 {
			break
		}
		if last.status != 502 {
			t.Fatalf("got %+v", last)
		}
	}
	if last.status != 503 || last.after != "1" {
		t.Fatalf("got %+v, want 503 and Retry-After 1", last)
	}
	a.start(t)
	b.start(t)
	deadline := time.Now().Add(5 * time.Second)
	for ok := 0; ok < 30; {
		got := send(t, "GET", "/", "")
		if got.status == 200 {
			ok++
			if got.after != "" {
				t.Fatalf("a good answer says Retry-After %s", got.after)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("not recovered in 5 s: %+v", got)
		}
	}
}

// TestRetryGoesElsewhere: policies that choose at random, or always the same,
// do not send a retry to the upstream that has just failed.
//
// Field: S172, samosa-ai-com/opencode-go-multi-auth#6 (2026-09-03).
func TestRetryGoesElsewhere(t *testing.T) {
	a, b, c := newUpstream(t), newUpstream(t), newUpstream(t)
	a.kill()
	b.kill()
	for _, policy := range []string{"random", "first", "least_conn", "uri_hash", "weighted_round_robin 5 5 1"} {
		load(t, strings.Replace(site("consecutive_failures 1000\nfailure_rate off\n", a, b, c), "round_robin", policy, 1))
		for range 20 {
			if got := send(t, "POST", "/", ""); got.status != 200 {
				t.Fatalf("%s: got %+v", policy, got)
			}
		}
	}
}

// TestWaitingForAnUpstream: a request that waits for the cooldown's end gets
// its answer, and no word of the wait.
func TestWaitingForAnUpstream(t *testing.T) {
	u := newUpstream(t)
	load(t, strings.Replace(site(quick, u), "lb_retries 2", "lb_try_duration 5s\nlb_try_interval 10ms", 1))
	open3(t, "/", u)
	if got := send(t, "POST", "/", ""); got.status != 200 || got.after != "" {
		t.Errorf("got %+v, want 200 without Retry-After", got)
	}
}

// TestOutcomes goes through what an upstream can do; each three times, after
// which the next request tells whether the breaker has opened.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		more   string
		opens  bool
	}{
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "", true},
		{"404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "", false},
		{"501", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(501) }, "", false},
		{"429", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "", false},
		{"429, listed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "failure_status 429\n", true},
		{"no header in time", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "transport http {\nresponse_header_timeout 20ms\n}\n", true},
		{"connection reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", true},
		{"body breaks off", cut, "", false},
		{"body breaks off, judged", cut, "judge_body\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			u.do(c.handle)
			u.server.ErrorLog = nil
			load(t, site(slow+c.more, u))
			for try := 0; u.served.Load() < 3 && try < 9; try++ {
				req, _ := http.NewRequest("POST", "http://"+front, nil)
				if resp, err := client.Do(req); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
			u.do(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
			got := send(t, "POST", "/", "")
			if opened := got.status == 503 && got.after != ""; opened != c.opens || !opened && got.status != 204 {
				t.Errorf("got %+v; want open: %v", got, c.opens)
			}
		})
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100000")
	w.Write(make([]byte, 50000))
	panic(http.ErrAbortHandler)
}

// TestClientsThatLeaveAreNotCharged: 20 of them abort while the proxy waits.
//
// Field: S174, caddyserver/caddy#3816 (2020-11-25).
func TestClientsThatLeaveAreNotCharged(t *testing.T) {
	u := newUpstream(t)
	arrived := make(chan struct{}, 1)
	u.do(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	load(t, site(slow, u))
	for range 20 {
		ctx, leave := context.WithCancel(t.Context())
		go func() { <-arrived; leave() }()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://"+front, nil)
		if resp, err := client.Do(req); err == nil {
			t.Fatalf("got %s", resp.Status)
		}
	}
	time.Sleep(50 * time.Millisecond) // Caddy notices on its own goroutines
	u.do(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	if got := send(t, "GET", "/", ""); got.status != 204 {
		t.Errorf("after clients left: %+v", got)
	}
}

// open3 opens the only upstream's breaker.
func open3(t *testing.T, path string, u *upstream) {
	t.Helper()
	u.status.Store(500)
	for range 3 {
		send(t, "POST", path, "")
	}
	u.status.Store(200)
}

func TestStateSurvivesReloads(t *testing.T) {
	u := newUpstream(t)
	for _, c := range []struct {
		name          string
		before, after string
		open          bool
	}{
		{"same settings, no name", slow, slow, true},
		{"other settings, no name", slow, "consecutive_failures 4\ncooldown 1m 1m\n", false},
		{"same name and settings", "name x\n" + slow, "name x\n" + slow, true},
		{"same name, other settings", "name x\n" + slow, "name x\nconsecutive_failures 4\ncooldown 50s 50s\n", true},
		{"other name", "name x\n" + slow, "name y\n" + slow, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			load(t, site(c.before, u))
			open3(t, "/", u)
			if got := send(t, "POST", "/", ""); got.status != 503 {
				t.Fatalf("not open before the reload: %+v", got)
			}
			load(t, "header X-Changed yes\n"+site(c.after, u)) // in mid-outage
			if got := send(t, "POST", "/", ""); (got.status == 503 && got.after != "") != c.open {
				t.Errorf("after the reload: %+v; want open: %v", got, c.open)
			}
			load(t, "respond ok") // nobody has a breaker
			load(t, site(c.before, u))
			if got := send(t, "POST", "/", ""); got.status != 200 {
				t.Errorf("after a configuration without it: %+v, want a new breaker", got)
			}
		})
	}
}

// Routes to one address share a breaker by its name or by equal settings; one
// name with two settings is refused at load.
//
// Field: S168, caddyserver/caddy#7870 and #7916 (2026-08-12).
func TestRoutesToOneAddress(t *testing.T) {
	u := newUpstream(t)
	routes := func(a, b string) string {
		return "handle /a {\n" + site(a, u) + "\n}\nhandle /b {\n" + site(b, u) + "\n}\n"
	}
	for _, c := range []struct {
		name, a, b string
		shared     bool
	}{
		{"same settings", slow, slow, true},
		{"other settings", slow, "consecutive_failures 100\n", false},
		{"same name and settings", "name x\n" + slow, "name x\n" + slow, true},
		{"names of their own", "name x\n" + slow, "name y\n" + slow, false},
	} {
		load(t, routes(c.a, c.b))
		open3(t, "/a", u)
		if got := send(t, "POST", "/b", ""); (got.status == 503) != c.shared {
			t.Errorf("%s: the other route got %+v; want shared: %v", c.name, got, c.shared)
		}
	}
	config, err := adapt(t, routes("name x\n"+slow, "name x\nconsecutive_failures 100\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(config, false); err == nil || !strings.Contains(err.Error(), `two handlers name their breakers "x" with different settings`) {
		t.Errorf("one name with two settings was loaded: %v", err)
	}
}

func TestHealthChecksPassBy(t *testing.T) {
	u := newUpstream(t)
	var checks atomic.Int64
	u.do(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			checks.Add(1)
			return
		}
		w.WriteHeader(500)
	})
	load(t, strings.Replace(site(slow, u), "lb_retries 2", "health_uri /health\nhealth_interval 10ms", 1))
	for range 3 {
		send(t, "GET", "/", "")
	}
	if got := send(t, "GET", "/", ""); got.status != 503 || got.after == "" {
		t.Fatalf("not open: %+v", got)
	}
	before := checks.Load()
	for deadline := time.Now().Add(5 * time.Second); checks.Load() < before+3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the open breaker keeps health checks from the upstream: %d, then %d", before, checks.Load())
		}
	}
	if got := send(t, "GET", "/", ""); got.status != 503 || got.after == "" {
		t.Errorf("good health checks closed the breaker: %+v", got)
	}
}

// TestRefusedByTheTransportAlone is without the policy: the refusal is tried
// again, and ends with 503, for any method, its body intact.
func TestRefusedByTheTransportAlone(t *testing.T) {
	a, b := newUpstream(t), newUpstream(t)
	load(t, strings.Replace(site(slow, a, b), "atomicbreaker round_robin", "round_robin", 1))
	a.status.Store(500)
	for range 6 {
		send(t, "POST", "/", "")
	}
	served := a.served.Load()
	for range 10 {
		if got := send(t, "POST", "/", "!"); got.status != 200 || got.body != b.addr+"!" {
			t.Fatalf("got %+v, want b's answer", got)
		}
	}
	if a.served.Load() != served {
		t.Error("a request reached the open upstream")
	}
	b.status.Store(500)
	for range 3 {
		send(t, "POST", "/", "")
	}
	if got := send(t, "POST", "/", "!"); got.status != 503 {
		t.Errorf("got %+v, want 503", got)
	}
}

func TestUpgradeThroughCaddy(t *testing.T) {
	u := newUpstream(t)
	u.do(func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := buf.ReadString('\n')
		io.WriteString(conn, line)
	})
	load(t, site(slow+"judge_body\n", u))
	req, _ := http.NewRequest("GET", "http://"+front, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	resp, err := (&http.Client{Transport: new(http.Transport)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	session, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != 101 || !ok {
		t.Fatalf("got %s, %T", resp.Status, resp.Body)
	}
	defer session.Close()
	io.WriteString(session, "hello\n")
	if line, _ := io.ReadAll(session); string(line) != "hello\n" {
		t.Errorf("echoed %q", line)
	}
}

func TestHTTPSUpstream(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.TLS != nil, " ", r.Host) }))
	defer s.Close()
	for _, inner := range []string{"transport http {\ntls_insecure_skip_verify\n}\n", "transport http {\ntls\ntls_insecure_skip_verify\n}\n"} {
		load(t, fmt.Sprintf("reverse_proxy https://%s {\nlb_policy atomicbreaker\ntransport atomicbreaker {\n%s%s}\n}", s.Listener.Addr(), slow, inner))
		if got := send(t, "GET", "/", ""); got.status != 200 || got.body != "true "+s.Listener.Addr().String() {
			t.Errorf("got %+v", got)
		}
	}
	// The scheme alone: TLS is switched on in the guarded transport.
	config, err := adapt(t, "reverse_proxy https://127.0.0.1:1 {\ntransport atomicbreaker\n}")
	if err != nil || !strings.Contains(string(config), `"transport":{"protocol":"http","tls":{}}`) {
		t.Errorf("%s, %v", config, err)
	}
	if _, err := adapt(t, "reverse_proxy https://127.0.0.1:1 {\ntransport atomicbreaker {\ntransport fastcgi\n}\n}"); err == nil || !strings.Contains(err.Error(), "does not support TLS") {
		t.Errorf("TLS to FastCGI: %v", err)
	}
}

func TestH2CUpstream(t *testing.T) {
	u := newUpstream(t)
	u.kill()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })}
	go s.Serve(l)
	defer s.Close()
	load(t, fmt.Sprintf("reverse_proxy h2c://%s {\nlb_policy atomicbreaker\ntransport atomicbreaker\n}", l.Addr()))
	if got := send(t, "GET", "/", ""); got.body != "HTTP/2.0" {
		t.Errorf("got %+v, want HTTP/2.0 without TLS", got)
	}
}

// TestProxyProtocolUpstream: the first line of an upstream connection tells
// the client's address, so that two clients must not share one.
func TestProxyProtocolUpstream(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lines := make(chan string, 9)
	serve := func(conn net.Conn) {
		defer conn.Close()
		r := bufio.NewReader(conn)
		line, _ := r.ReadString('\n')
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			lines <- line
			io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	load(t, fmt.Sprintf("reverse_proxy %s {\nlb_policy atomicbreaker\ntransport atomicbreaker {\ntransport http {\nproxy_protocol v1\n}\n}\n}", l.Addr()))
	for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		resp, err := client.Get("http://" + front)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if line := <-lines; resp.StatusCode != 204 || !strings.HasPrefix(line, "PROXY TCP4 "+ip+" ") {
			t.Errorf("client %s: got %s, the upstream saw %q", ip, resp.Status, line)
		}
	}
}

func TestPlaceholderUpstreams(t *testing.T) {
	a, b := newUpstream(t), newUpstream(t)
	load(t, fmt.Sprintf("map {path} {up} {\n/a %s\n/b %s\n}\nreverse_proxy {up} {\nlb_policy atomicbreaker\ntransport atomicbreaker {\n%s}\n}", a.addr, b.addr, slow))
	open3(t, "/a", a)
	if got := send(t, "POST", "/a", ""); got.status != 503 || got.after == "" {
		t.Errorf("a: %+v, want open", got)
	}
	if got := send(t, "POST", "/b", ""); got.status != 200 {
		t.Errorf("b, which was never asked: %+v", got)
	}
}

func TestWeightedPolicy(t *testing.T) {
	a, b, c := newUpstream(t), newUpstream(t), newUpstream(t)
	load(t, strings.NewReplacer("round_robin", "weighted_round_robin 1 2 5", "lb_retries 2", "lb_retries 4").Replace(site(slow, a, b, c)))
	c.kill()
	for range 60 {
		if got := send(t, "GET", "/", ""); got.status != 200 {
			t.Fatalf("got %+v", got)
		}
	}
	if a.served.Load() < 10 || b.served.Load() < 10 {
		t.Errorf("a served %d, b %d", a.served.Load(), b.served.Load())
	}
}

func TestCircuitBreakerHook(t *testing.T) {
	u := newUpstream(t)
	config := fmt.Sprintf(`{"admin":{"disabled":true,"config":{"persist":false}},"logging":{"logs":{"default":{"level":"PANIC"}}},"apps":{"http":{"servers":{"s":{"listen":[%q],"automatic_https":{"disable":true},
		"routes":[{"handle":[{"handler":"reverse_proxy","upstreams":[{"dial":%q}],
		"circuit_breaker":{"type":"atomicbreaker","consecutive_failures":3,"cooldown_min":"200ms","cooldown_max":"200ms","probe_interval":"50ms"}}]}]}}}}}`, front, u.addr)
	loadJSON(t, []byte(config))
	open3(t, "/", u)
	if got := send(t, "GET", "/", ""); got.status != 503 {
		t.Fatalf("got %+v, want 503", got)
	}
	loadJSON(t, []byte(strings.Replace(config, `"listen"`, `"read_timeout":"9s","listen"`, 1)))
	if got := send(t, "GET", "/", ""); got.status != 503 {
		t.Errorf("after a reload: %+v, want 503", got)
	}
	served := u.served.Load()
	deadline := time.Now().Add(10 * time.Second)
	for ok := 0; ok < 20; time.Sleep(5 * time.Millisecond) {
		if send(t, "GET", "/", "").status == 200 {
			ok++
		} else {
			ok = 0 // in half-open, one in 50 ms
		}
		if time.Now().After(deadline) {
			t.Fatalf("not closed in 10 s; %d requests went through", u.served.Load()-served)
		}
	}
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	for want, transport := range map[string]string{
		"failure_rate is 7, want above 0 to 1, or off; it is a share, not per cent, at Caddyfile:12": "failure_rate 7\n",
		"failure_rate is \"0\": a zero says nothing":                                                 "failure_rate 0\n",
		"quiet is \"0s\": a zero says nothing":                                                       "quiet 0s\n",
		"successes is 3 and concurrent 0 with probes 2":                                              "probes 2\nsuccesses 3\n",
		"max_open is 2, want above 0 to 1, at Caddyfile:13":                                          "judge_body\nmax_open 2\n",
		"failure_status is \"many\", want 200":                                                       "failure_status many\n",
		"cooldown needs an argument":                                                                 "cooldown\n",
		"window is \"soon\", want a duration":                                                        "window soon\n",
		"mode has too many":                                                                          "mode auto shadow\n",
		"unknown mode":                                                                               "mode sometimes\n",
		"failure_status is \"42\", want":                                                             "failure_status 42\n",
		"failure_status is \"7xx\", want":                                                            "failure_status 7xx\n",
		"unrecognized option fallback":                                                               "fallback x\n",
		"transport already specified":                                                                "transport http\ntransport http\n",
		"no rule could ever trip":                                                                    "consecutive_failures off\nfailure_rate off\n",
		"module not registered: http.reverse_proxy.tra":                                              "transport nosuch\n",
		"max_upstreams is -1, want":                                                                  "max_upstreams off\n",
	} {
		config, err := adapt(t, "reverse_proxy 127.0.0.1:1 {\ntransport atomicbreaker {\n"+transport+"}\n}")
		if err == nil {
			err = caddy.Load(config, false)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", strings.TrimSpace(transport), err, want)
		}
	}
	config, err := adapt(t, "reverse_proxy 127.0.0.1:1 {\nlb_policy atomicbreaker\n}")
	if err == nil {
		err = caddy.Load(config, false)
	}
	if err == nil || !strings.Contains(err.Error(), "add 'transport atomicbreaker'") {
		t.Errorf("the policy without the transport: %v", err)
	}
	caddy.Stop()
}

// TestCaddyfileSaysAllThatJSONDoes reads every option back.
func TestCaddyfileSaysAllThatJSONDoes(t *testing.T) {
	config, err := adapt(t, `reverse_proxy 127.0.0.1:1 {
		lb_policy atomicbreaker cookie name secret
		transport atomicbreaker {
			name n
			window 10s 5
			minimum_calls 7
			failure_rate 0.25
			consecutive_failures off
			slow_call 2s 0.75
			cooldown 1s 9s
			cooldown_factor 2
			jitter off
			probes 3
			successes 2
			concurrent 1
			quiet 2s
			probe_timeout 4s
			max_open 0.3
			mode shadow
			failure_status 429 423 5xx
			max_upstreams 77
			judge_body
			transport http {
				dial_timeout 3s
			}
		}
	}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"transport":{"buckets":5,"concurrent":1,"consecutive_failures":-1,"cooldown_factor":2,"cooldown_max":9000000000,"cooldown_min":1000000000,"failure_rate":0.25,"failure_statuses":[429,423,5],"jitter":-1,"judge_body":true,"max_open":0.3,"max_upstreams":77,"minimum_calls":7,"mode":"shadow","name":"n","probe_timeout":4000000000,"probes":3,"protocol":"atomicbreaker","quiet":2000000000,"slow_call_duration":2000000000,"slow_call_rate":0.75,"successes":2,"transport":{"dial_timeout":3000000000,"protocol":"http"},"window":10000000000}`,
		`"selection_policy":{"policy":"atomicbreaker","select":{"name":"name","policy":"cookie","secret":"secret"}}`,
	} {
		if !strings.Contains(string(config), want) {
			t.Errorf("%s\nwant %s", config, want)
		}
	}
	loadJSON(t, config)
}
