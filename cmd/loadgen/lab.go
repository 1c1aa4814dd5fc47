package main

import (
	"context"
	"flag"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab/labserve"
)

var labCommand = command{
	name:    "lab",
	summary: "a page to play with: dependency, callers, incident, and what breakers make of them",
	onCall:  true,
	about:   labserve.About,
	declare: func(fs *flag.FlagSet) job { return labJob{labserve.Declare(fs)} },
}

type labJob struct{ *labserve.Job }

func (j labJob) validate() error { return j.Validate() }

func (j labJob) run(ctx context.Context, r *report) error { return j.Run(ctx, r.console.printf) }
