package watchhttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// TestEachKindIsReported as real servers and clients make it.
func TestEachKindIsReported(t *testing.T) {
	var watch breakerwatch.Watch
	require.NoError(t, watch.Add(atomicbreaker.MustNew(atomicbreaker.Config{Name: "b"})))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(500)
		case "/501":
			w.WriteHeader(501)
		case "/404":
			w.WriteHeader(404)
		case "/429":
			w.WriteHeader(429)
		case "/503":
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(503)
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/hang":
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()

	transport := &Transport{Watch: &watch, Name: "b"}
	counts := func() (n [16]uint64) {
		e, _ := watch.Read(nil)[0].Errors()
		copy(n[:], e.Counts[:])
		return n
	}
	ask := func(ctx context.Context, url string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		require.NoError(t, err)
		if resp, err := transport.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	cancelled, cancelNow := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancelNow)
	for _, c := range []struct {
		ctx  context.Context
		url  string
		kind breakerwatch.Kind
	}{
		{t.Context(), server.URL + "/500", breakerwatch.KindStatus},
		{t.Context(), server.URL + "/503", breakerwatch.KindLimited},
		{t.Context(), server.URL + "/429", breakerwatch.KindLimited},
		{t.Context(), server.URL + "/cut", breakerwatch.KindReset},
		{t.Context(), gone.URL, breakerwatch.KindRefused},
		{t.Context(), secure.URL, breakerwatch.KindTLS},
		{t.Context(), "http://no-such-host.invalid/", breakerwatch.KindName},
		{soon, server.URL + "/hang", breakerwatch.KindTimeout},
		{cancelled, server.URL + "/hang", breakerwatch.KindCancelled},
	} {
		before := counts()
		ask(c.ctx, c.url)
		before[c.kind]++
		require.Equal(t, before, counts(), "%s", c.url)
	}
	before := counts()
	for _, path := range []string{"/", "/404", "/501"} {
		ask(t.Context(), server.URL+path)
	}
	require.Equal(t, before, counts(), "an answer is no error")

	transport.NameFor = func(r *http.Request) string { return r.URL.Path }
	ask(t.Context(), server.URL+"/500")
	last, ok := watch.LastError("/500")
	require.True(t, ok)
	require.Equal(t, "status 500 Internal Server Error", last.Text)
}
