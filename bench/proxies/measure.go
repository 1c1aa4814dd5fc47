package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

const (
	before   = 1500 * time.Millisecond
	during   = 5 * time.Second
	after    = 3500 * time.Millisecond
	patience = 2 * time.Second
)

// call is what became of one.
type call struct {
	number string
	post   bool
	sent   time.Duration // since the start
	took   time.Duration
	ok     bool
}

// tally is a cell of the table.
type tally struct {
	calls, failed, twice int
	p99                  time.Duration
}

type row struct {
	fault, proxy string
	rate         int
	get, post    tally
	returned     time.Duration // 0: not within the time
}

// measure runs one fault behind one proxy.
func measure(ctx context.Context, r rival, f fault, rate int) (row, error) {
	b := &book{times: map[string]int{}}
	var backends [2]*backend
	for i := range backends {
		s, err := newBackend(rate, b)
		if err != nil {
			return row{}, err
		}
		defer s.close()
		backends[i] = s
	}
	b.faulty = backends[0]
	addr, err := freeAddr()
	if err != nil {
		return row{}, err
	}
	stop, err := r.start(ctx, addr, backends[0].addr, backends[1].addr)
	if err != nil {
		return row{}, err
	}
	defer stop()
	if err := await(ctx, addr); err != nil {
		return row{}, fmt.Errorf("%s does not answer: %w", r.name, err)
	}
	change := func(on [2]mode) error {
		for i, s := range backends {
			if m := on[i]; mode(s.mode.Load()) != m {
				if err := s.set(m); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var changed error
	begin := time.AfterFunc(before, func() { changed = change(f.on) })
	defer begin.Stop()
	mended := make(chan struct{})
	end := time.AfterFunc(before+during, func() {
		defer close(mended)
		if err := change([2]mode{}); err != nil {
			changed = err
		}
		b.mu.Lock()
		b.mended = time.Now()
		b.mu.Unlock()
	})
	defer end.Stop()
	calls := load(ctx, "http://"+addr+"/call", rate)
	if ctx.Err() != nil {
		return row{}, ctx.Err()
	}
	<-mended
	if changed != nil {
		return row{}, changed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return row{
		fault: f.name, proxy: r.name, rate: rate, returned: b.returned,
		get: tallyOf(calls, b, false), post: tallyOf(calls, b, true),
	}, nil
}

// load sends calls at a steady rate and waits for the last one.
func load(ctx context.Context, url string, rate int) []call {
	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	n := int((before + during + after).Seconds() * float64(rate))
	calls := make([]call, n)
	var all sync.WaitGroup
	start := time.Now()
	for i := range calls {
		due := time.Duration(i) * time.Second / time.Duration(rate)
		time.Sleep(due - time.Since(start))
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			c := &calls[i]
			c.number, c.post, c.sent = fmt.Sprint(i), i/2%2 == 1, due // in pairs, as some proxies take turns
			c.ok = send(ctx, client, url, c)
			c.took = time.Since(start) - due
		})
	}
	all.Wait()
	return calls
}

func send(ctx context.Context, client *http.Client, url string, c *call) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	method, body := "GET", io.Reader(nil)
	if c.post {
		method, body = "POST", strings.NewReader(strings.Repeat("x", 100))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return false
	}
	req.Header.Set("X-Number", c.number)
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == 200
}

func tallyOf(calls []call, b *book, post bool) (t tally) {
	var took []time.Duration
	for _, c := range calls {
		if c.post != post || c.number == "" {
			continue
		}
		t.calls++
		took = append(took, c.took)
		if !c.ok {
			t.failed++
		}
		if b.times[c.number] > 1 {
			t.twice++
		}
	}
	slices.Sort(took)
	if len(took) > 0 {
		t.p99 = took[len(took)*99/100]
	}
	return t
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await waits until the proxy passes requests on.
func await(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/ready", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func printTable(w io.Writer, rows []row) {
	fmt.Fprintf(w, "Calls that failed of GET and of POST, with one of two backends faulty for %v of %v (all-sick, overload: both);\n", during, before+during+after)
	fmt.Fprintf(w, "calls that reached a backend twice; the 99th per cent; how long the mended backend waited for its tenth call.\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| fault\t| calls/s\t| proxy\t| GET failed\t| POST failed\t| twice, GET\t| twice, POST\t| p99 GET\t| p99 POST\t| back after\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		back := "not yet"
		if r.returned > 0 {
			back = fmt.Sprintf("%.1f s", r.returned.Seconds())
		}
		fmt.Fprintf(t, "| %s\t| %d\t| %s\t| %d of %d\t| %d of %d\t| %d\t| %d\t| %s\t| %s\t| %s\t|\n", r.fault, r.rate, r.proxy,
			r.get.failed, r.get.calls, r.post.failed, r.post.calls, r.get.twice, r.post.twice, ms(r.get.p99), ms(r.post.p99), back)
	}
	t.Flush()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }
