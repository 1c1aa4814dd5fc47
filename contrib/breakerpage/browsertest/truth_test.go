package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerpage"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// heap is how many bytes the page's script holds, after a collection.
func (b *browser) heap() (used float64) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for range 2 {
			if _, err := cdp.Call(ctx, t, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		r, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			return err
		}
		used = r.UsedSize
		return nil
	}))
	return used
}

// TestTheHeapStaysLevel at 1000 breakers that are all called all the time, of
// which a few are in sight.
func TestTheHeapStaysLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	f := newFleet(t, breakerpage.Options{Interval: 100 * time.Millisecond})
	var all []*atomicbreaker.Breaker
	for i := range 1000 {
		all = append(all, f.made(fmt.Sprintf("breaker %d", i), atomicbreaker.Config{}))
	}
	f.calls.Go(func() {
		for f.ctx.Err() == nil {
			for _, b := range all {
				if ticket, err := b.Acquire(); err == nil {
					ticket.Report(atomicbreaker.Success)
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	b := opened(t, f)
	ticks := b.times
	time.Sleep(5 * time.Second)
	start, before := ticks(), b.heap()
	time.Sleep(15 * time.Second)
	n, after := ticks()-start, b.heap()
	grown := (after - before) / float64(n)
	t.Logf("%d readings: %.1f MB, then %.1f MB: %.0f bytes a reading", n, before/1e6, after/1e6, grown)
	// One that keeps something of each breaker and reading grows by 40 kB a reading or more.
	if n < 50 || grown > 4000 {
		t.Errorf("the heap grew by %.0f bytes in each of %d readings, want less than 4000", grown, n)
	}
}

// times is how many readings the page was sent.
func (b *browser) times() uint64 {
	b.Helper()
	return uint64(js[int](b, `Number(document.body.dataset.tick)`))
}

// TestNothingTicksOnWithoutNews: what is shown is as of the last news, and is
// said to be.
func TestNothingTicksOnWithoutNews(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.made("b", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour}}).Trip()
	b := opened(t, f)
	b.eventually("it is there", badge("b")+` === "open"`)
	b.eventually("what has not happened is said", `document.getElementById("audit").textContent === "None yet."`)
	b.eventually("the outage is pinned", `/^b for \d/.test(document.getElementById("outages").textContent)`)
	b.eventually("the zone is told", `/^UTC/.test(document.getElementById("zone").textContent)`)
	b.quiet = true // the browser complains of the connection
	f.server.Listener.Close()
	f.server.CloseClientConnections()
	b.eventually("the loss is told", `document.body.classList.contains("stale") && /^No news since .*\d\d:\d\d:\d\d: what is shown/.test(document.getElementById("notice").textContent)`)
	shown := js[string](b, `document.getElementById("rows").innerText + document.getElementById("outages").innerText`)
	time.Sleep(2500 * time.Millisecond)
	if again := js[string](b, `document.getElementById("rows").innerText + document.getElementById("outages").innerText`); again != shown {
		t.Errorf("it ticks on:\n%s\n%s", shown, again)
	}
	b.shot("stale")
}

// TestAPageForWhichThereIsNoRoomStillTellsTheTruth.
func TestAPageForWhichThereIsNoRoomStillTellsTheTruth(t *testing.T) {
	f := newFleet(t, breakerpage.Options{Viewers: 1})
	f.made("b", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour}}).Trip()
	resp, err := http.Get(f.url() + "?stream") // and never reads it
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b := newBrowser(t)
	b.quiet = true // it complains of the status 503
	b.size(1440, 900, "light")
	b.do(chromedp.Navigate(f.url()))
	b.eventually("it asks instead", `document.getElementById("link").textContent.startsWith("too many pages are open")`)
	b.eventually("it shows what is", badge("b")+` === "open" && document.querySelector("#sums strong").textContent === "1"`)
}

// TestASelectionIsCommanded at once.
func TestASelectionIsCommanded(t *testing.T) {
	f := writableFleet(t)
	var all []*atomicbreaker.Breaker
	for i := range 120 {
		all = append(all, f.made(fmt.Sprintf("b %d", i), atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour}}))
	}
	b := opened(t, f)
	b.eventually("the rows are there", inSight+`.length > 0`)
	if !js[bool](b, `document.getElementById("bulk").offsetParent === null`) {
		t.Error("commands to nothing")
	}
	b.do(chromedp.Evaluate[chromedp.Void](rowJS + `("b 3").querySelector(".pick").click()`))
	b.eventually("one is selected", `!document.getElementById("detail").open && document.querySelector("#bulk strong").textContent === "1 breaker selected"`)
	b.do(chromedp.Click(`//div[@id="bulk"]/button[contains(., "Select all")]`))
	b.eventually("all are", `document.querySelector("#bulk strong").textContent === "120 breakers selected"`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#bulk .reason").value = "drill"`))
	trip := `//div[@id="bulk"]//button[contains(., "Trip")]`
	b.do(chromedp.Click(trip), chromedp.Click(trip))
	b.eventually("all are open", `document.querySelector("#sums strong").textContent === "120"`)
	for _, c := range all {
		if c.State() != atomicbreaker.StateOpen {
			t.Fatalf("%s is %v", c.Name(), c.State())
		}
	}
}
