package breakerexpvar_test

import (
	"expvar"
	"fmt"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerexpvar"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

func ExamplePublish() {
	var watch breakerwatch.Watch
	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
	if err := watch.Add(b); err != nil {
		fmt.Println(err)
		return
	}
	if err := breakerexpvar.Publish("example_breakers", &watch); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(expvar.Get("example_breakers").String(), `"inventory"`))
	// Output: true
}
