package percall

import (
	"context"
	"net/http"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

var config atomicbreaker.Config

func call(ctx context.Context) error       { return nil }
func get(ctx context.Context) (int, error) { return 0, nil }

func stock(ctx context.Context) error {
	b := atomicbreaker.MustNew(config) // want `the breaker b is made for one call and never sees another: make it once and keep it`
	return b.Do(ctx, call)
}

func ticket(ctx context.Context) error {
	b, err := atomicbreaker.New(config) // want `the breaker b is made for one call`
	if err != nil {
		return err
	}
	t, err := b.Acquire()
	if err != nil {
		return err
	}
	err = call(ctx)
	t.Done(ctx, err)
	return err
}

func generic(ctx context.Context) (int, error) {
	b := atomicbreaker.MustNew(config) // want `the breaker b is made for one call`
	return atomicbreaker.Do(ctx, b, get)
}

func chained(ctx context.Context) error {
	_, _ = atomicbreaker.Do(ctx, atomicbreaker.MustNew(config), get) // want `this breaker is made for one call`
	return atomicbreaker.MustNew(config).Do(ctx, call)               // want `this breaker is made for one call`
}

func loop(ctx context.Context, hosts []string) {
	for range hosts {
		b := atomicbreaker.MustNew(config) // want `the breaker b is made for one call`
		_ = b.Do(ctx, call)
	}
}

func group(ctx context.Context, host string) error {
	g, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{}) // want `the breaker g is made for one call`
	if err != nil {
		return err
	}
	return g.Get(host).Do(ctx, call)
}

var handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	b := atomicbreaker.MustNew(config) // want `the breaker b is made for one call`
	if err := b.Do(r.Context(), call); err != nil {
		w.WriteHeader(500)
	}
})

// What is right.

type service struct{ b *atomicbreaker.Breaker }

func newService() *service {
	b := atomicbreaker.MustNew(config)
	_ = b.Do(context.Background(), call) // the first call
	return &service{b}
}

func perHost(hosts []string) map[string]*atomicbreaker.Breaker {
	all := make(map[string]*atomicbreaker.Breaker)
	for _, h := range hosts {
		b := atomicbreaker.MustNew(config)
		all[h] = b
	}
	return all
}

func worker(ctx context.Context, jobs chan int) {
	b := atomicbreaker.MustNew(config)
	for range jobs {
		_ = b.Do(ctx, call)
	}
}

func middleware(next http.Handler) http.Handler {
	b := atomicbreaker.MustNew(config)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = b.Do(r.Context(), call)
	})
}

func client() *http.Client {
	b := atomicbreaker.MustNew(config)
	_ = breakerhttp.Transport{Breaker: b}
	return http.DefaultClient
}

func check() error {
	_, err := atomicbreaker.New(config)
	return err
}

func asked() bool {
	b := atomicbreaker.MustNew(config)
	return b.Ready()
}

func refusal() error {
	b := atomicbreaker.MustNew(config)
	b.Trip()
	return b.Do(context.Background(), call)
}

func main() {
	b := atomicbreaker.MustNew(config)
	_ = b.Do(context.Background(), call)
}
