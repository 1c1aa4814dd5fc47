package browsertest

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerpage"
	"github.com/chromedp/chromedp"
)

// TestManyProcessesInOneView as a browser shows it, in light and dark and on a
// phone.
func TestManyProcessesInOneView(t *testing.T) {
	var sources []breakerpage.Source
	for _, instance := range []string{"i-1", "i-2", "i-3"} {
		f := newFleet(t, breakerpage.Options{})
		b := f.made("stock", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour}})
		f.made("<img src=x onerror=alert(1)>", atomicbreaker.Config{})
		if instance == "i-2" {
			b.Trip()
		}
		sources = append(sources, breakerpage.Source{Job: "checkout", Instance: instance, URL: f.url()})
	}
	sources = append(sources, breakerpage.Source{Job: "checkout", Instance: "i-4", URL: "http://127.0.0.1:1/"})
	fleet, err := breakerpage.NewFleet(func() []breakerpage.Source { return sources }, &breakerpage.FleetOptions{Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fleet)
	defer server.Close()
	b := newBrowser(t)
	for _, scheme := range []string{"light", "dark"} {
		b.size(1440, 900, scheme)
		b.do(chromedp.Navigate(server.URL))
		b.eventually("the one that differs is told", `/stock\s+3\s+1 open\s+.*trip called\s+i-2 \(open\)/.test(document.querySelector("tbody").innerText.replaceAll("\n", " "))`)
		b.eventually("who is silent is told", `document.querySelector(".notice").innerText.includes("1 of 4 processes gave no answer")`)
		if n := js[int](b, `document.images.length`); n != 0 {
			t.Error("a name became an element")
		}
		b.shot("fleet-" + scheme)
	}
	b.size(390, 844, "light")
	if js[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page scrolls sideways on a phone")
	}
}
