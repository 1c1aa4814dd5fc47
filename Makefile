.DEFAULT_GOAL := help
.PHONY: help test race bench bench-quick verify mutants soak sim ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-12s %s\n", $$1, $$2}'

test: ## run every test of every module (the README's command)
	go test work

race: ## the core's tests under the race detector on 1, 2 and 4 processors
	go test -race -cpu 1,2,4 ./clock ./ring ./atomicbreaker ./contrib/breakerhttp ./contrib/breakertest ./contrib/gobreaker/... .

bench: ## regenerate benchstat.txt (under 15 minutes; nothing else running)
	bash bench/run.sh full

bench-quick: ## the ratios alone, in two minutes
	bash bench/run.sh quick

verify: ## linearizability, interleavings, model, fuzz seeds, platforms (10 minutes)
	bash verify/run.sh

mutants: ## break every guarantee and see that a check notices
	bash verify/mutants.sh

soak: ## a billion operations with faults
	bash verify/soak.sh

sim: ## the recovery simulator's table
	go run ./cmd/loadgen sim

ci: ## what must pass before a change lands
	bash .ci/run
