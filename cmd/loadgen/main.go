// Command loadgen puts a circuit breaker under load and judges what it did.
//
// See README.md, or run it with -h.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/advise"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/drill"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/failfast"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab/labserve"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/simulate"
)

var commands = []frame.Command{
	failfast.Command, // how long an open breaker takes to refuse
	drill.Command,    // an outage of a real server
	simulate.Command, // outages in virtual time
	advise.Command,   // a calculator
	labserve.Command, // a page to play with
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := frame.Run(ctx, commands, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
