package migrating

import (
	"context"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/sony/gobreaker/v2"
)

func Example_shadowBesideTheOldOne() {
	old := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name:        "stock",
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 8 },
	})

	trial := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		Mode:                atomicbreaker.Shadow,
		ConsecutiveFailures: 5,
		OnTransition: func(t atomicbreaker.Transition) {
			fmt.Printf("trial: %v to %v (%v)\n", t.From, t.To, t.Reason)
		},
	})

	call := func(ctx context.Context, sku string) (int, error) {
		return old.Execute(func() (int, error) {
			return atomicbreaker.Do(ctx, trial, func(ctx context.Context) (int, error) { return stock(ctx, sku) })
		})
	}

	for range 20 {
		call(context.Background(), "4711")
	}
	s := trial.Snapshot()
	fmt.Printf("old: %v; trial: %v, opened %d times, would have refused %d calls\n", old.State(), s.State, s.Opened, s.WouldRefuse)
	// Output:
	// trial: closed to open (streak)
	// old: open; trial: open, opened 1 times, would have refused 3 calls
}

func Example_shadowInItsPlace() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		Mode:                atomicbreaker.Shadow,
		ConsecutiveFailures: 5,
		Cooldown:            atomicbreaker.Cooldown{Min: time.Minute},
	})
	count := func() (sent, refused int) {
		for range 10 {
			if _, err := atomicbreaker.Do(context.Background(), b, func(ctx context.Context) (int, error) {
				sent++
				return stock(ctx, "4711")
			}); atomicbreaker.IsRejected(err) {
				refused++
			}
		}
		return sent, refused
	}

	fmt.Println(count())
	b.SetMode(atomicbreaker.Auto) // it acts on what it has seen
	fmt.Println(count())
	b.SetMode(atomicbreaker.Shadow) // and back, should that be wrong
	fmt.Println(count())
	// Output:
	// 10 0
	// 0 10
	// 10 0
}
