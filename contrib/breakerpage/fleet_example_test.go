package breakerpage_test

import (
	"log"
	"net/http"

	"github.com/atomicbreaker/breaker/contrib/breakerpage"
)

// ExampleNewFleet shows the breakers of two processes in one view.
func ExampleNewFleet() {
	sources := func() []breakerpage.Source { // from wherever the addresses are known
		return []breakerpage.Source{
			{Job: "checkout", Instance: "i-1", URL: "http://10.1.2.3:6060/debug/breakers/"},
			{Job: "checkout", Instance: "i-2", URL: "http://10.1.2.4:6060/debug/breakers/"},
		}
	}
	fleet, err := breakerpage.NewFleet(sources, nil)
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/fleet/", fleet)
}
