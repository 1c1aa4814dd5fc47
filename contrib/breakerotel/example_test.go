package breakerotel_test

import (
	"context"
	"fmt"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerotel"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func ExampleRegister() {
	reader := sdkmetric.NewManualReader() // in a program of your own: an exporter
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	var watch breakerwatch.Watch
	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
	if err := watch.Add(b); err != nil {
		fmt.Println(err)
		return
	}
	shown, err := breakerotel.Register(provider, &watch)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shown.Unregister()

	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		fmt.Println(err)
		return
	}
	for _, metric := range data.ScopeMetrics[0].Metrics {
		if metric.Name == "circuitbreaker.state" {
			fmt.Println(metric.Name, "is collected")
		}
	}
	// Output: circuitbreaker.state is collected
}

// The current span gets an event when the call is refused.
func ExampleDo() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
	b.Trip()
	err := breakerotel.Do(context.Background(), b, func(context.Context) error { return nil })
	fmt.Println(atomicbreaker.IsRejected(err))
	// Output: true
}
