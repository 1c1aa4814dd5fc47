package breakerotel_test

import (
	"log"

	"github.com/atomicbreaker/breaker/contrib/breakerotel"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"go.opentelemetry.io/otel"
)

// ExampleRegisterWith names the metrics so that breakerprom's dashboard and
// alerts fit.
func ExampleRegisterWith() {
	var watch breakerwatch.Watch
	shown, err := breakerotel.RegisterWith(otel.GetMeterProvider(), &watch, &breakerotel.Options{PrometheusNames: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = shown.Unregister() }()
}
