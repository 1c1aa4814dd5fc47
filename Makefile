.DEFAULT_GOAL := help
.PHONY: help test race bench bench-quick proxies verify mutants soak sim lab pictures release ci

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

proxies: ## the pool and Caddy beside nginx, HAProxy and Caddy, faults included (12 minutes; nothing else running)
	go run ./bench/proxies

verify: ## linearizability, interleavings, model, fuzz seeds, platforms (10 minutes)
	bash verify/run.sh

mutants: ## break every guarantee and see that a check notices
	bash verify/mutants.sh

soak: ## a billion operations with faults
	bash verify/soak.sh

sim: ## the recovery simulator's table, every scenario
	go run ./cmd/loadgen sim -all

lab: ## the page to play with as static files, in build/lab (served by any web server)
	go run ./cmd/loadgen lab -files build/lab
	cp "$$(go env GOROOT)/lib/wasm/wasm_exec.js" build/lab/
	GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o build/lab/lab.wasm ./cmd/loadgen/internal/lab/wasm

pictures: ## draw the pictures in docs/pictures again
	go run ./cmd/loadgen lab -still docs/pictures/surge.svg

release: ## ready a release: make release VERSION=v0.1.0 (sets requirements, checks, prints the tags)
	go run ./verify/release -version '$(VERSION)' -skip '$(SKIP)'

ci: ## what must pass before a change lands
	bash .ci/run
