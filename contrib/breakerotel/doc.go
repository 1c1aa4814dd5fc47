// Package breakerotel shows circuit breakers to OpenTelemetry: metrics, and events
// on spans.
//
// Use it when your program exports OpenTelemetry. A first program:
//
//	package main
//
//	import (
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerotel"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch"
//		"go.opentelemetry.io/otel"
//	)
//
//	func main() {
//		var watch breakerwatch.Watch
//		b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//		if err := watch.Add(b); err != nil {
//			panic(err)
//		}
//		shown, err := breakerotel.Register(otel.GetMeterProvider(), &watch)
//		if err != nil {
//			panic(err)
//		}
//		defer shown.Unregister()
//		fmt.Println(b.State())
//	}
//
// Breakers are read when metrics are collected, by one callback for all of them.
// Calls pay nothing for it.
//
// # Choices
//
//   - [Register] is for metrics; README.md lists them.
//   - [Do] and [Transport] add an event to the current span when a breaker refuses
//     or changes its state. [Refused] does so for calls that you make in another way.
//
// The names follow the attributes that open-telemetry/semantic-conventions#2355
// proposes. There is no convention yet; the names may change when there is one.
package breakerotel
