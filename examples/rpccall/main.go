// Rpccall guards a call site of net/rpc with a breaker. It asks a server for
// prices, which it starts itself and stops half-way.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Prices is the service.
type Prices struct{}

// Get answers with the price of an item.
func (Prices) Get(item string, price *int) error {
	if item == "" {
		return fmt.Errorf("no item")
	}
	*price = 10 * len(item)
	return nil
}

// classify takes an error that the server sent for an answer: it is well.
func classify(err error) atomicbreaker.Outcome {
	if _, answered := err.(rpc.ServerError); answered {
		return atomicbreaker.Success
	}
	return atomicbreaker.Failure
}

// priceOf is the call site.
func priceOf(ctx context.Context, b *atomicbreaker.Breaker, dial func() (*rpc.Client, error), item string) (int, error) {
	return atomicbreaker.Do(ctx, b, func(context.Context) (price int, err error) {
		client, err := dial()
		if err != nil {
			return 0, err
		}
		defer client.Close()
		err = client.Call("Prices.Get", item, &price)
		return price, err
	})
}

func run(w io.Writer) error {
	server := rpc.NewServer()
	server.Register(Prices{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Accept(l)
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "prices", ConsecutiveFailures: 2, Classify: classify})
	dial := func() (*rpc.Client, error) { return rpc.Dial("tcp", l.Addr().String()) }
	for i, item := range []string{"tea", "", "bread", "tea", "tea", "tea"} {
		if i == 3 {
			l.Close()
		}
		price, err := priceOf(context.Background(), b, dial, item)
		if err != nil {
			fmt.Fprintf(w, "%q: no price, asked: %v\n", item, !atomicbreaker.IsRejected(err))
			continue
		}
		fmt.Fprintf(w, "%q: %d\n", item, price)
	}
	return nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rpccall:", err)
		os.Exit(1)
	}
}
