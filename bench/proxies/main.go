// Proxies runs the same faults behind nginx, HAProxy, Caddy and this module's
// pool and prints what clients saw:
//
//	make proxies
//	go run ./bench/proxies -quick
//
// Each proxy gets two backends of its own on loopback, of which one is faulty
// for five seconds. Half of the calls are GET, half POST, sent at a steady
// rate whatever became of the earlier ones, by clients with two seconds of
// patience. A proxy that is not installed is left out, and said so.
//
// Run it with nothing else running. The whole takes some eight minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
)

func main() {
	log := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	quick := flag.Bool("quick", false, "60 calls a second only, in about a minute")
	only := flag.String("only", "", "only proxies whose name contains this")
	fault := flag.String("fault", "", "only faults whose name contains this")
	serve := flag.String("serve", "", "be the pool on this address, in front of the arguments (used by the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *serve != "" {
		if err := servePool(ctx, *serve, flag.Args()); err != nil {
			log("proxies: %v", err)
			os.Exit(1)
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "proxies")
	if err != nil {
		log("proxies: %v", err)
		os.Exit(1)
	}
	defer os.RemoveAll(dir)

	var rivals []rival
	for _, r := range allRivals(dir) {
		if !strings.Contains(r.name, *only) {
			continue
		}
		if err := r.find(ctx); err != nil {
			log("SKIPPED: %s: %v", r.name, err)
			continue
		}
		rivals = append(rivals, r)
	}
	rates := []int{60, 600}
	if *quick {
		rates = rates[:1]
	}
	var rows []row
	bad := false
	for _, rate := range rates {
		for _, f := range faults {
			if !strings.Contains(f.name, *fault) {
				continue
			}
			results := make([]row, len(rivals))
			errs := make([]error, len(rivals))
			var all sync.WaitGroup
			for i, r := range rivals {
				run := func() { results[i], errs[i] = measure(ctx, r, f, rate) }
				if rate > 100 { // where the machine is busy one at a time
					run()
				} else {
					all.Go(run)
				}
			}
			all.Wait()
			for i, err := range errs {
				if err != nil {
					bad = true
					log("FAILED: %s, %s: %v", rivals[i].name, f.name, err)
					continue
				}
				rows = append(rows, results[i])
			}
			log("done: %s at %d/s", f.name, rate)
		}
	}
	printTable(os.Stdout, rows)
	if bad || ctx.Err() != nil {
		os.Exit(1)
	}
}
