package main

import "github.com/atomicbreaker/breaker/sim"

func writePage(string, *sim.Report, *simFacts) error { return nil }
