package browsertest

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const loadgenDir = "../../../cmd/loadgen"

// built is a program of loadgen's module, built for the test.
func built(t *testing.T, name, pkg string, env ...string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	c := exec.Command("go", "build", "-o", name, pkg)
	c.Dir, c.Env = loadgenDir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return name
}

// servedLab is the address of a lab that loadgen serves until the test ends.
func servedLab(t *testing.T) string {
	t.Helper()
	c := exec.Command(built(t, "loadgen", "."), "lab", "-address", "127.0.0.1:0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("loadgen lab, interrupted: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
	if url == "" {
		t.Fatalf("no address in %q", line)
	}
	return url
}

// staticLab is the address of the page's static files on a web server that knows
// nothing of them.
func staticLab(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(built(t, "loadgen", "."), "lab", "-files", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	copyFile(t, built(t, "lab.wasm", "./internal/lab/wasm", "GOOS=js", "GOARCH=wasm"), filepath.Join(dir, "lab.wasm"))
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(strings.TrimSpace(string(root)), "lib/wasm/wasm_exec.js"), filepath.Join(dir, "wasm_exec.js"))
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// shownLab opens a lab and waits for what it shows.
func shownLab(t *testing.T, url string, width, height int64, scheme string) *browser {
	t.Helper()
	b := newBrowser(t)
	b.size(width, height, scheme)
	b.do(chromedp.Navigate(url))
	b.settled()
	return b
}

// settled waits until what is shown is what is set.
func (b *browser) settled() {
	b.Helper()
	time.Sleep(250 * time.Millisecond) // the page waits for the next key
	b.eventually("it is simulated", `!document.getElementById("results").classList.contains("busy") && document.querySelectorAll("#sum tbody tr").length > 0`)
}

// table is what came of it, as text.
func (b *browser) table() string {
	b.Helper()
	return js[string](b, `[...document.querySelectorAll("#sum tbody tr")].map(r => [...r.cells].map(c => c.textContent).join(" | ")).join("\n")`)
}

// sets changes a field as typing does.
func (b *browser) sets(name, value string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })(document.getElementsByName(%q)[0])`, value, name)))
}

// TestTheLabShowsWhatBreakersMakeOfAnIncident at once, follows a change, and is
// reproduced by its address.
func TestTheLabShowsWhatBreakersMakeOfAnIncident(t *testing.T) {
	url := servedLab(t)
	b := shownLab(t, url, 1440, 2000, "light")
	b.shot("lab-light")
	first := b.table()
	for name, back := range map[string]string{"This breaker": `\d+ s`, "Classic breaker": "never", "gobreaker": "never", "No breaker": "never"} {
		if !regexp.MustCompile(`(?m)^` + name + ` \| ` + back + ` \|`).MatchString(first) {
			t.Errorf("%s: want %s:\n%s", name, back, first)
		}
	}
	if n := js[int](b, `document.querySelectorAll(".lane svg .good").length`); n != 4 {
		t.Errorf("%d charts with good calls, want 4", n)
	}
	if said := js[string](b, `document.getElementById("said").textContent`); !strings.Contains(said, "No breaker: Not back to normal") {
		t.Errorf("said aloud: %q", said)
	}

	b.do(chromedp.Focus("#f-queue"), keyDown("ArrowUp")) // a number field steps by a key
	b.settled()
	if q := js[string](b, `location.search`); q != "?queue=2001" {
		t.Errorf("the address after a key: %q", q)
	}
	b.sets("queue", "20")
	b.sets("a.Cooldown.Min", "2s")
	b.settled()
	second := b.table()
	if second == first {
		t.Error("another queue changes nothing")
	}
	if code := js[string](b, `document.querySelector("[data-code=go]").textContent`); !strings.Contains(code, "Cooldown: atomicbreaker.Cooldown{Min: 2 * time.Second}") {
		t.Errorf("the code: %s", code)
	}
	if code := js[string](b, `document.querySelector("[data-code=yaml]").textContent`); !strings.Contains(code, "cooldown:\n  min: 2s\n") {
		t.Errorf("the YAML: %s", code)
	}
	address := js[string](b, `location.href`)
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.settled()
	if again := b.table(); again != second {
		t.Errorf("%s shows\n%s\nand showed\n%s", address, again, second)
	}
	if v := js[string](b, `document.getElementById("f-queue").value`); v != "20" {
		t.Errorf("the form says a queue of %s", v)
	}
}

func TestTheLabSaysWhatIsWrong(t *testing.T) {
	b := shownLab(t, servedLab(t), 1440, 1200, "light")
	b.sets("capacity", "-1")
	b.sets("a.FailureRate", "2")
	b.eventually("both faults are told", `/Capacity \(capacity\) is "-1", want 1 to 5000 calls\/s/.test(document.querySelector("[role=alert]").innerText)`)
	if n := js[int](b, `document.querySelectorAll("[aria-invalid]").length`); n != 1 {
		t.Errorf("%d fields are marked, want 1", n)
	}
	b.sets("capacity", "400")
	b.eventually("the other is told", `/FailureRate/.test(document.querySelector("[role=alert]").innerText)`)
	b.sets("a.FailureRate", "0.3")
	b.settled()
	if js[bool](b, `!document.getElementById("faults").hidden`) {
		t.Error("faults are told that are mended")
	}
}

// TestTheLabFitsAPhoneAndTheDark, and everything in it has a name.
func TestTheLabFitsAPhoneAndTheDark(t *testing.T) {
	url := servedLab(t)
	b := shownLab(t, url, 1440, 2000, "dark")
	b.shot("lab-dark")
	for _, query := range []string{"", "?incident=dead&fleet=30&lanes=ours-alone-turns-second-classic-gobreaker-none-oracle"} {
		for _, width := range []int64{360, 390, 820} {
			b.size(width, 2800, "light")
			b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+query))
			b.settled()
			if js[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
				t.Errorf("%s: at %d it is %d wide", query, width, js[int](b, `document.documentElement.scrollWidth`))
			}
			if width == 390 {
				b.shot(fmt.Sprintf("lab-phone-%d", len(query)))
			}
		}
	}
	nameless := js[string](b, `[
		...[...document.querySelectorAll("input:not([aria-hidden]), select")].filter(e => !e.labels.length || !e.labels[0].textContent.trim()),
		...[...document.querySelectorAll("svg")].filter(e => e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")),
		...[...document.querySelectorAll("button, a")].filter(e => !e.textContent.trim() && !e.getAttribute("aria-label")),
	].map(e => e.outerHTML.slice(0, 80)).join("\n")`)
	if nameless != "" {
		t.Errorf("without a name:\n%s", nameless)
	}
}

// TestTheLabNeedsNoServer: the static files show what the served page shows.
func TestTheLabNeedsNoServer(t *testing.T) {
	const query = "?incident=dead&queue=200&fleet=5&length=40&lanes=ours-turns-classic-none"
	want := shownLab(t, servedLab(t)+query, 1440, 1200, "light").table()
	b := shownLab(t, staticLab(t)+query, 1440, 1200, "light")
	if got := b.table(); got != want {
		t.Errorf("WebAssembly shows\n%s\nthe server\n%s", got, want)
	}
	b.do(chromedp.Click(`.presets li:nth-child(2) a`))
	b.eventually("an example is shown without a reload", `location.search === "?queue=200&incident=dead"`)
	b.settled()
}
