package labserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab"
)

func get(t *testing.T, target string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

func TestHandler(t *testing.T) {
	for target, want := range map[string]struct {
		code      int
		kind, has string
	}{
		"/":                        {200, "text/html", `data-engine="server"`},
		"/page.js":                 {200, "text/javascript", "serverEngine"},
		"/page.css":                {200, "text/css", "prefers-color-scheme: dark"},
		"/describe?queue=-1":       {200, "application/json", "want 0 to 20000 calls"},
		"/run/ours?incident=dead":  {200, "application/json", `"title":"This breaker"`},
		"/run/ours?queue=-1":       {400, "text/plain", "want 0 to 20000 calls"},
		"/run/theirs":              {400, "text/plain", "want one of ours"},
		"/lab.wasm":                {404, "text/plain", ""},
		"/assets/page.html":        {404, "text/plain", ""},
		"/run/ours?" + hugeQuery(): {400, "text/plain", "could ask"},
	} {
		w := get(t, target)
		if w.Code != want.code || !strings.HasPrefix(w.Header().Get("Content-Type"), want.kind) || !strings.Contains(w.Body.String(), want.has) {
			t.Errorf("%s: %d, %s: %.200s", target, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: without a policy", target)
		}
	}
}

func hugeQuery() string { return "rate=5000&retry=10&length=300" }

// A run is answered within the second that one waits for. Ten times that is what a
// busy machine may take.
func TestRunsAreQuick(t *testing.T) {
	began := time.Now()
	for _, lane := range lab.Default().Lanes {
		var run lab.Run
		if err := json.Unmarshal(get(t, "/run/"+lane).Body.Bytes(), &run); err != nil {
			t.Fatal(err)
		}
		if n := len(run.Seconds.Good); n != 90 || len(run.Charts) != 4 {
			t.Errorf("%s: %d seconds and %d charts", lane, n, len(run.Charts))
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the page's first four runs took %v", took)
	}
}

func jobOf(t *testing.T, args ...string) *job {
	t.Helper()
	fs := flag.NewFlagSet("lab", flag.ContinueOnError)
	j := declare(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestFlags(t *testing.T) {
	for line, want := range map[string]string{
		"":                                  "",
		"-address :0":                       "",
		"-address localhost:0":              "",
		"-address [::1]:0":                  "",
		"-address 0.0.0.0:80":               "want a loopback host",
		"-address example.com:80":           "want a loopback host",
		"-address here":                     "want HOST:PORT or :PORT",
		"-still a -files b":                 "-still and -files exclude each other",
		"-setup queue=20":                   "-setup needs -still",
		"-still a -setup queue=-1":          "want 0 to 20000 calls",
		"-still a -setup ?incident=dead":    "",
		"-address here -still a -setup x=1": "no setting",
	} {
		err := jobOf(t, strings.Fields(line)...).Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

func TestServesUntilItsContextEnds(t *testing.T) {
	j := jobOf(t, "-address", ":0")
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- j.Run(ctx, frame.NewReport(frame.NewConsole(in, io.Discard), nil)) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "the lab: "), " ")
	answer, err := http.Get(address + "describe")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

func TestWritesItsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "lab")
	if err := jobOf(t, "-files", dir).Run(t.Context(), frametest.Quiet()); err != nil {
		t.Fatal(err)
	}
	for name, has := range map[string]string{"index.html": `data-engine="wasm"`, "worker.js": "wasm_exec.js", "page.js": "workerEngine", "page.css": ":root"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), has) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The picture in the documents is what the command draws today.
func TestThePictureIsOfToday(t *testing.T) {
	const picture = "../../../../../docs/pictures/surge.svg"
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	still := filepath.Join(t.TempDir(), "still.svg")
	if err := jobOf(t, "-still", still).Run(t.Context(), frametest.Quiet()); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(still); !bytes.Equal(got, want) {
		t.Error("docs/pictures/surge.svg is of another simulator or breaker: make pictures")
	}
}
