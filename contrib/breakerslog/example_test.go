package breakerslog_test

import (
	"log/slog"
	"os"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerslog"
)

func ExampleListener() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // keep what is the same in each run
			switch a.Key {
			case slog.LevelKey, slog.MessageKey:
				return a
			}
			return slog.Attr{}
		},
	}))
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:         "inventory",
		OnTransition: breakerslog.Listener(logger, nil),
	})
	b.Trip()
	b.Reset()
	// Output:
	// level=WARN msg="circuit breaker opened"
	// level=INFO msg="circuit breaker closed"
}
