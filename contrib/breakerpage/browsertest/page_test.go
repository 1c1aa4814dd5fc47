package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerpage"
)

// opened opens the page in a window of a desktop.
func opened(t *testing.T, f *fleet) *browser {
	t.Helper()
	b := newBrowser(t)
	b.size(1440, 900, "light")
	b.do(chromedp.Navigate(f.url()))
	b.eventually("the page is live", `document.getElementById("link").textContent === "live"`)
	return b
}

// says is the sentence in the row of a breaker that is in sight, as an
// expression.
func says(name string) string {
	return rowJS + fmt.Sprintf(`(%q)?.querySelector(".says").textContent`, name)
}

func badge(name string) string {
	return rowJS + fmt.Sprintf(`(%q)?.querySelector(".badge").textContent`, name)
}

// search types into the search field.
func (b *browser) search(text string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("input")); })(document.getElementById("search"))`, text)))
}

// inSight are the names of the rows in sight, joined.
const inSight = `[...document.querySelectorAll("#rows .row")].filter(r => r.style.display !== "none").sort((a, b) => a.getAttribute("aria-rowindex") - b.getAttribute("aria-rowindex")).map(r => r.querySelector(".name").textContent).join("|")`

// TestWhatEachBreakerDoesIsSaid: the page alone answers when work is refused,
// who may test recovery, what the tests say, and whether an open breaker is
// refusing or merely unasked.
func TestWhatEachBreakerDoesIsSaid(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.everyKind()
	b := opened(t, f)
	for name, want := range map[string]string{
		"calm":     `^Lets everything through\. 0 of [\d,]+ failed\.( Usually [\d.]+ m?s, 95 % within [\d.]+ m?s\.)?$`,
		"idle":     `^Lets everything through\. No calls in the window\.$`,
		"errors":   `^Lets everything through\. [1-9]\d* of [\d,]+ failed, \d+ % of the way to opening\.`,
		"dead":     `^Refuses [\d.]+/s\. A probe may go (in [\d.]+ m?s|now)\. Since \d\d:\d\d:\d\d \((streak|failure rate)\), reopened (once|\d+ times), last error: other\.$`,
		"unasked":  `^Nobody has asked since\. A probe may go in 59 min`,
		"refusing": `^Refuses [\d.]+/s\. A probe may go in 59 min.* Since \d\d:\d\d:\d\d \(trip called\)\.$`,
		"unprobed": `^Waits for a call: the next one is the probe\. Since `,
		"probing":  `^Tests: [1-9]\d* of [1-9]\d* probes? under way, \d+ succeeded, 0 failed\. Refuses [\d.]+/s\. Since `,
		"forced":   `^Held open by an operator\. Refuses [\d.]+/s\. Since `,
		"shadow":   `^Shadow: refuses nobody, would refuse [\d.]+/s\. Since `,
		"precious": `^Held closed by an operator: lets everything through, whatever fails\.$`,
	} {
		b.eventually(name+" says "+want, fmt.Sprintf(`/%s/.test(%s)`, strings.ReplaceAll(want, "/", `\/`), says(name)))
	}
	for name, want := range map[string]string{"refusing": "open", "unprobed": "half-open", "calm": "closed", "forced": "forced open", "shadow": "open, shadow", "precious": "forced closed"} {
		b.eventually(name+" is "+want, fmt.Sprintf(`%s === %q`, badge(name), want))
	}
	b.eventually("not closed ones are first", `/^(dead|forced|refusing|shadow|unasked|unprobed|probing)\b/.test(`+inSight+`)`)
	b.eventually("the sparkline is told in words", rowJS+`("refusing").querySelector("canvas").getAttribute("aria-label").match(/0 succeeded, 0 failed, [1-9]\d* refused/) !== null`)
	b.shot("every-kind")
}

// TestAnOutageIsSeenAsItHappens without a reload.
func TestAnOutageIsSeenAsItHappens(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	stock := f.made("stock", atomicbreaker.Config{
		ConsecutiveFailures: 5, Cooldown: atomicbreaker.Cooldown{Min: 1500 * time.Millisecond, Max: 2 * time.Second},
		Recovery: atomicbreaker.Recovery{Quiet: 500 * time.Millisecond},
	})
	down := make(chan struct{})
	up := make(chan struct{})
	isClosed := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	f.traffic(stock, 10*time.Millisecond, time.Millisecond, func(int) bool { return isClosed(down) && !isClosed(up) })
	b := opened(t, f)
	b.eventually("it is closed and called", badge("stock")+` === "closed" && Number(`+rowJS+`("stock").querySelector(".c-calls").textContent) > 10`)
	b.do(chromedp.Evaluate[chromedp.Void](`window.loadedOnce = true`))
	close(down)
	b.eventually("it opens", badge("stock")+` === "open"`)
	b.eventually("it refuses", says("stock")+`.startsWith("Refuses ")`)
	b.eventually("the timeline tells", `/stock closed → open\s*streak, \d+ of [\d,]+ calls failed/.test(document.getElementById("events").innerText)`)
	b.eventually("the chip counts", `document.querySelector("#sums strong").textContent === "1"`)
	b.eventually("it is said aloud", `document.getElementById("said").textContent.includes("stock opened")`)
	b.shot("outage")
	close(up)
	b.eventually("it closes", badge("stock")+` === "closed"`)
	b.eventually("the timeline tells", `/stock half-open → closed\s*recovered, \d+ of [\d,]+ probes? failed/.test(document.getElementById("events").innerText)`)
	b.eventually("it is said aloud", `document.getElementById("said").textContent.includes("stock closed")`)
	if !js[bool](b, `window.loadedOnce === true`) {
		t.Error("the page was loaded again")
	}
	b.do(chromedp.Click("#probing"))
	b.eventually("every probing is shown", `document.getElementById("events").innerText.includes("open → half-open")`)
	b.shot("recovered")
}

func TestFindingABreaker(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.everyKind()
	f.crowd(300)
	b := opened(t, f)
	b.eventually("all are counted", `document.getElementById("count").textContent === "311 breakers"`)

	b.do(keyDown("/"), chromedp.KeyEvent("MAIL eu"))
	b.eventually("only those are left", `document.getElementById("count").textContent.endsWith("of 311 breakers") && `+inSight+`.split("|").every(n => n.startsWith("mail eu"))`)
	b.eventually("9 comes before 10", `(n => n.length > 5 && n.every((x, i) => i === 0 || n[i - 1] < x))(`+inSight+`.split("|").map(n => Number(n.match(/-(\d+):/)[1])))`)
	b.search("")

	b.do(chromedp.Click(`//div[@id="sums"]/button[contains(., "held")]`))
	b.eventually("the held ones", inSight+` === "forced|precious"`)
	b.eventually("the button is pressed", `document.querySelectorAll('#sums [aria-pressed="true"]').length === 1`)
	b.do(chromedp.Click(`//div[@id="sums"]/button[contains(., "held")]`))

	b.do(chromedp.Click(`[data-sort="refused"] button`))
	b.eventually("the most refused is first", inSight+`.startsWith("dead|")`)
	b.eventually("the order is told", `document.querySelector('[data-sort="refused"]').getAttribute("aria-sort") === "descending" && document.querySelectorAll("[aria-sort]").length === 1`)
	b.do(chromedp.Click(`[data-sort="refused"] button`))
	b.eventually("and last", `document.querySelector('[data-sort="refused"]').getAttribute("aria-sort") === "ascending" && !`+inSight+`.startsWith("dead|")`)
	b.do(chromedp.Click(`[data-sort="share"] button`))
	b.eventually("the worst failures first", inSight+`.startsWith("errors|")`)
	b.do(chromedp.Click(`[data-sort="name"] button`))
	b.eventually("by name", inSight+`.startsWith("auth ap-south-11:443|auth ap-south-32:443|")`)
}

// TestKeyboard moves through the rows, opens one and comes back.
func TestKeyboard(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.crowd(200)
	b := opened(t, f)
	b.eventually("the rows are there", inSight+`.length > 0`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".skip").click()`))
	focused := `document.activeElement.textContent`
	b.eventually("the first row has the focus", focused+` === "auth ap-south-11:443"`)
	press := func(key string) { b.do(keyDown(key)) }
	press("ArrowDown")
	press("ArrowDown")
	press("ArrowUp")
	b.eventually("one further", focused+` === "auth ap-south-32:443"`)
	press("End")
	b.eventually("the last one", focused+` === "search us-east-184:443"`)
	press("PageUp")
	b.eventually("a page up", `/^search/.test(`+focused+`) && `+focused+` !== "search us-east-184:443"`)
	press("Home")
	b.eventually("the first one", focused+` === "auth ap-south-11:443"`)
	press("Enter")
	b.eventually("it is open", `document.getElementById("detail").open && document.getElementById("detail-name").textContent === "auth ap-south-11:443"`)
	b.eventually("its figures are there", `document.querySelector(".facts").innerText.includes("Opened")`)
	press("Escape")
	b.eventually("closed, and the focus is back", `!document.getElementById("detail").open && `+focused+` === "auth ap-south-11:443"`)
	if n := js[int](b, `document.querySelectorAll('#rows [tabindex="0"]').length`); n != 1 {
		t.Errorf("%d stops for the Tab key among the rows, want 1", n)
	}
}

// TestFocusFollowsTheBreaker when the rows change places.
func TestFocusFollowsTheBreaker(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.crowd(20)
	b := opened(t, f)
	b.eventually("the rows are there", inSight+`.length > 0`)
	b.do(chromedp.Evaluate[chromedp.Void](rowJS + `("auth us-east-4:443").querySelector(".name").focus({ preventScroll: true })`))
	f.made("a new one that is open", atomicbreaker.Config{}).Trip()
	b.eventually("the rows have moved", inSight+`.startsWith("a new one that is open|")`)
	b.eventually("the focus too", `document.activeElement.textContent === "auth us-east-4:443"`)
}

func TestCommandsByClicking(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.made("b", atomicbreaker.Config{})
	b := opened(t, f)
	b.eventually("the row is there", inSight+` === "b"`)
	b.do(chromedp.Evaluate[chromedp.Void](rowJS + `("b").click()`))
	b.eventually("a page that is read-only has no commands", `document.getElementById("detail").open && document.querySelectorAll(".commands, .pick").length === 0`)

	f = writableFleet(t)
	breaker := f.made("b", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour}})
	precious := f.made("precious", atomicbreaker.Config{})
	b.do(chromedp.Navigate(f.url()))
	b.eventually("the rows are there", inSight+` === "b|precious"`)
	b.do(chromedp.Evaluate[chromedp.Void](rowJS + `("b").click()`))
	trip := `//dialog//div[@class="commands"]/button[contains(., "Trip")]`
	b.do(chromedp.Click(trip), chromedp.Click(trip))
	b.eventually("it wants to know why", `document.querySelector("#detail .answer").textContent === "Say why first." && document.activeElement.className === "reason"`)
	b.do(chromedp.KeyEvent("drill"), chromedp.Click(trip))
	b.eventually("it asks again", `document.querySelector("#detail .commands .sure").textContent === "Sure? Trip"`)
	if breaker.State() != atomicbreaker.StateClosed {
		t.Error("it was tripped by one click")
	}
	b.do(chromedp.Click(trip))
	b.eventually("it is open", badge("b")+` === "open"`)
	if breaker.State() != atomicbreaker.StateOpen {
		t.Error("it only looks open")
	}
	b.do(chromedp.Evaluate[chromedp.Void](`(e => { e.value = "forced-closed"; e.dispatchEvent(new Event("change")); })(document.querySelector("#detail .commands select"))`))
	mode := `//dialog//div[@class="commands"]/button[contains(., "Set mode")]`
	b.do(chromedp.Click(mode), chromedp.Click(mode))
	b.eventually("it is forced closed", badge("b")+` === "forced closed"`)
	b.eventually("the figures agree", `document.querySelector(".facts").innerText.includes("forced closed")`)
	b.eventually("the hold is told", `/^Held closed by an operator: .* Until \d\d:\d\d:\d\d, because: drill\./.test(`+says("b")+`)`)
	b.eventually("the audit is told", `/^b trip\s*somebody: drill/m.test(document.getElementById("audit").innerText)`)
	b.shot("commands")
	breaker.SetMode(atomicbreaker.Shadow) // another operator
	b.eventually("the mode is followed", `document.querySelector("#detail .commands select").value === "shadow"`)
	b.do(keyDown("Escape"), chromedp.Evaluate[chromedp.Void](rowJS+`("precious").click()`))
	b.quiet = true // the browser complains of the status 403
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#detail .reason").value = "drill"`))
	reset := `//dialog//div[@class="commands"]/button[contains(., "Reset")]`
	b.do(chromedp.Click(reset), chromedp.Click(reset))
	b.eventually("the refusal is shown", `document.querySelector("#detail .answer").textContent === "not allowed: it is precious"`)
	if s := precious.Snapshot(); s.Generation != 0 {
		t.Error("it was reset")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	want := []breakerpage.Command{
		{Breaker: "b", Action: breakerpage.Trip, Reason: "drill"},
		{Breaker: "b", Action: breakerpage.SetMode, Mode: atomicbreaker.ForcedClosed, Reason: "drill", For: time.Hour},
		{Breaker: "precious", Action: breakerpage.Reset, Reason: "drill"},
	}
	if fmt.Sprint(f.commands) != fmt.Sprint(want) {
		t.Errorf("asked for %v, want %v", f.commands, want)
	}
}

// TestHostileNamesAreText wherever they are shown.
func TestHostileNamesAreText(t *testing.T) {
	f := newFleet(t, breakerpage.Options{Title: `<img src=x onerror="pwned=1">`})
	names := []string{
		`<img src=x onerror="pwned=1">`, `"><script>pwned=1</script>`, `</script><svg onload=pwned=1>`, "__proto__", "constructor", "toString",
		"{{.Title}}", "&lt;i&gt;", `' onclick='pwned=1`, "javascript:pwned=1",
	}
	for _, name := range names {
		f.made(name, atomicbreaker.Config{}).Trip()
	}
	f.made("a\u2028b\u202egnp\u200b.exe\\", atomicbreaker.Config{}).Trip()
	b := opened(t, f)
	b.eventually("what cannot be seen is escaped", rowJS+`("a\\u2028b\\u202egnp\\u200b.exe\\\\") !== undefined && !/[\u2028\u202e\u200b]/.test(document.body.innerText)`)
	for _, name := range names {
		b.eventually(name+" is in a row and in the timeline", fmt.Sprintf(
			`%s(%q) !== undefined && [...document.querySelectorAll("#events strong")].some(e => e.textContent === %q)`, rowJS, name, name))
		b.do(chromedp.Evaluate[chromedp.Void](rowJS + fmt.Sprintf(`(%q).click()`, name)))
		b.eventually("its figures are there", `document.querySelector("#detail .facts").innerText.includes("Generation")`)
		if got := js[string](b, `document.getElementById("detail-name").textContent`); got != name {
			t.Errorf("%q is headed %q", name, got)
		}
		b.do(keyDown("Escape"))
	}
	if js[bool](b, `"pwned" in window`) {
		t.Error("a name was run")
	}
	if n := js[int](b, `document.querySelectorAll("#rows img, #rows script, #rows svg, #events img, #detail img, h1 img").length`); n != 0 {
		t.Errorf("%d elements were made of names", n)
	}
}

// TestThousandsOfRows: what is drawn does not grow with their number.
func TestThousandsOfRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	f := newFleet(t, breakerpage.Options{Interval: time.Second})
	f.crowd(10_000)
	b := opened(t, f)
	b.eventually("all are counted", `document.getElementById("count").textContent === "10,000 breakers"`)
	b.do(chromedp.Evaluate[chromedp.Void](`
		window.longest = 0;
		(function watch(last) {
			requestAnimationFrame(now => { longest = Math.max(longest, now - last); watch(now); });
		})(performance.now());`))
	for _, place := range []string{"5000 * 68", "document.body.scrollHeight", "0", "9000 * 68"} {
		b.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, ` + place + `)`))
		time.Sleep(time.Second)
		if n := js[int](b, `document.querySelectorAll("#rows .row").length`); n > 40 {
			t.Errorf("%d rows are in the document at %s", n, place)
		}
		b.eventually("rows fill the window", inSight+`.split("|").length > 10`)
	}
	b.search("9991")
	b.eventually("one is found", `document.getElementById("count").textContent === "1 of 10,000 breakers"`)
	if got := js[string](b, `document.getElementById("table").getAttribute("aria-rowcount")`); got != "2" {
		t.Errorf("%s rows are told of, want 2", got)
	}
	t.Logf("the longest time between two frames was %.0f ms", js[float64](b, `longest`))
}

// TestFitsThePhone: nothing is cut off or scrolls sideways, and touching works.
func TestFitsThePhone(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.everyKind()
	f.made(strings.Repeat("a very long name ", 15), atomicbreaker.Config{}).Trip()
	b := opened(t, f)
	for _, width := range []int64{320, 390, 700, 1024, 1440, 2200} {
		for _, scheme := range []string{"light", "dark"} {
			b.size(width, 844, scheme)
			time.Sleep(300 * time.Millisecond)
			if over := js[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("at %d px the page is %d px too wide", width, over)
			}
			if cut := js[string](b, cutOff); cut != "" {
				t.Errorf("at %d px %s is cut off", width, cut)
			}
			if poor := js[string](b, contrasts); poor != "" {
				t.Errorf("%s, at %d px: too little contrast: %s", scheme, width, poor)
			}
			b.shot(fmt.Sprintf("width-%d-%s", width, scheme))
		}
	}
	b.size(390, 844, "light")
	b.do(chromedp.Click("#tab-timeline"))
	b.eventually("the timeline takes the place of the rows", `document.getElementById("breakers").offsetHeight === 0 && document.getElementById("events").offsetHeight > 0`)
	b.shot("phone-timeline")
	b.do(chromedp.Click("#tab-breakers"), chromedp.Evaluate[chromedp.Void](rowJS+`("dead").click()`))
	b.eventually("the details fill the window", `document.getElementById("detail").getBoundingClientRect().width === innerWidth && document.querySelector(".facts").innerText.includes("Generation")`)
	b.shot("phone-detail")
}

// cutOff lists badges and figures that do not fit their cells.
const cutOff = `[...document.querySelectorAll("#rows .badge, #rows .c-calls, #rows .c-refused, #sums button, .tools label")]
	.filter(e => e.offsetParent && (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1 ||
		e.classList.contains("badge") && e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1)).map(e => e.textContent).join(", ")`

// contrasts lists texts whose contrast with what is behind them is below 4.5.
const contrasts = `(() => {
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/rgba\(.*, 0\)/.test(c)) return c; } };
	const poor = new Set();
	for (const e of document.querySelectorAll("h1, h2, #rows .badge, #rows .for, #rows .says, #rows .name, #rows .c-calls, #rows .c-share, #rows .c-refused, #events li, #events time, #events span, .head button, .tools label, .count, #link, button, summary")) {
		if (!e.offsetParent || !e.textContent) continue;
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) poor.add(e.className + " " + e.textContent.slice(0, 20) + " " + ((a + 0.05) / (b + 0.05)).toFixed(1));
	}
	return [...poor].join("; ");
})()`

func TestComesBackAfterTheServerWasGone(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.made("b", atomicbreaker.Config{})
	b := opened(t, f)
	b.quiet = true // the browser complains of the connection
	f.server.CloseClientConnections()
	b.eventually("the loss is told, or mended at once", `["live", "connection lost; trying again"].includes(document.getElementById("link").textContent)`)
	f.made("new", atomicbreaker.Config{}).Trip()
	b.eventually("it is live again", `document.getElementById("link").textContent === "live" && `+inSight+` === "new|b"`)

	b.do(chromedp.Click("#pause"))
	b.eventually("it says that it stands still", `document.getElementById("link").textContent === "paused"`)
	f.made("later", atomicbreaker.Config{})
	time.Sleep(600 * time.Millisecond)
	if got := js[string](b, inSight); got != "new|b" {
		t.Errorf("a page that is paused shows %s", got)
	}
	b.do(chromedp.Click("#pause"))
	b.eventually("and goes on", inSight+` === "new|b|later"`)
}

// TestParts is the page as assistive technology sees it.
func TestParts(t *testing.T) {
	f := newFleet(t, breakerpage.Options{})
	f.everyKind()
	b := opened(t, f)
	b.eventually("the rows are there", inSight+`.includes("dead")`)
	for what, expression := range map[string]string{
		"every control has a name":             `[...document.querySelectorAll("button, input, select")].every(e => e.textContent.trim() || e.closest("label") || e.getAttribute("aria-label"))`,
		"every row has six cells":              `[...document.querySelectorAll("#rows [role=row]")].every(r => r.querySelectorAll(":scope > [role=cell]").length === 6) && document.querySelectorAll(".head [role=columnheader]").length === 6`,
		"rows know their place":                `[...document.querySelectorAll("#rows [role=row]")].filter(r => r.style.display !== "none").every(r => Number(r.getAttribute("aria-rowindex")) >= 2)`,
		"every picture has a text":             `[...document.querySelectorAll("canvas")].filter(c => c.offsetParent).every(c => c.getAttribute("aria-label"))`,
		"there is one heading of first level":  `document.querySelectorAll("h1").length === 1`,
		"the language is told":                 `document.documentElement.lang === "en"`,
		"the state is not told by colour only": `[...document.querySelectorAll("#rows .badge")].every(b => b.textContent && getComputedStyle(b, "::before").content !== "none")`,
		"nothing came from elsewhere":          `performance.getEntriesByType("resource").every(e => e.name.startsWith(location.origin))`,
	} {
		if !js[bool](b, expression) {
			t.Errorf("not so: %s", what)
		}
	}
}
