package breakeradvice_test

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
)

func ExampleFind() {
	config := atomicbreaker.Config{Window: 10 * time.Second, MinimumCalls: 100}
	usage := breakeradvice.Usage{Rate: 5} // calls per second
	for _, finding := range breakeradvice.Find(config, usage) {
		fmt.Println(finding.Name)
	}
	// Output: minimum-out-of-reach
}
