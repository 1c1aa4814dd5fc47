package breakerpage_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerpage"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

func ExampleNew() {
	var watch breakerwatch.Watch
	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
	if err := watch.Add(b); err != nil {
		fmt.Println(err)
		return
	}
	page, err := breakerpage.New(&watch, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Close()
	server := httptest.NewServer(page) // in a program of your own: http.Handle("/debug/breakers/", page)
	defer server.Close()

	response, err := http.Get(server.URL + "/?format=text")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(strings.Contains(string(text), "inventory"))
	// Output: true
}
