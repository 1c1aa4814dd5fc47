#!/usr/bin/env bash
# Everything that is checked of the breaker but the soak and the mutants, in
# under ten minutes on two cores: bash verify/run.sh
#
# Each part may be run alone: bash verify/run.sh PART..., with the parts
# histories, schedules, coherence, model, properties, fuzz, scenarios, soak, knobs,
# dropin, platforms. See README.md.
set -euo pipefail
cd "$(dirname "$0")"

began=$SECONDS
step() { printf '\n== %4d s  %s\n' $((SECONDS - began)) "$*"; }

histories() {
	step 'histories against the sequential model; three broken breakers'
	go test -count=1 -v ./linear -histories 4000 | grep -E 'histories,|^ok|FAIL|---|no order|  to  ' | grep -v '=== '
}

schedules() {
	step 'every schedule to a bound'
	go test -count=1 -v ./interleave | grep -E 'explored|^ok|FAIL|schedule|caught' | sed 's/^ *interleave_test.go:[0-9]*: *//'
}

coherence() {
	step 'line transfers on up to 128 processors, simulated'
	go test -count=1 -v ./coherence | grep -E 'simulated|seen|^ok|FAIL|---' | sed 's/^ *coherence_test.go:[0-9]*: *//'
}

model() {
	step 'the model'
	bash model/run.sh
}

properties() {
	step 'properties, and the mutations still apply'
	go test -count=1 ./property -rapid.checks 3000
	go test -count=1 ./internal/...
}

fuzz() {
	step 'fuzzing, the committed seeds and then some seconds'
	for f in FuzzOperationStrings FuzzConfig; do
		go test ./property -run '^$' -fuzz "^$f\$" -fuzztime "${FUZZ_TIME:-15s}" -parallel 2
	done
	(cd .. && go test -count=1 ./bench/lockstep)
}

scenarios() {
	step "the field's bugs"
	(cd .. && go test -count=1 ./ring ./atomicbreaker)
	if [ -d scenarios ]; then go test -count=1 ./scenarios/...; fi
}

soak() {
	step 'a short soak, also under the race detector'
	go test -count=1 -v ./soak | grep -E 'operations|^ok|FAIL|soak'
	go test -count=1 -race ./soak ./property
}

knobs() {
	step 'the core with garbage at every turn, and on 1, 2, 4 and 64 processors'
	(
		cd ..
		GOGC=1 go test -count=1 -short ./ring ./clock ./atomicbreaker
		for n in 1 2 4 64; do GOMAXPROCS=$n go test -count=1 -short ./ring ./atomicbreaker; done
	)
}

dropin() {
	step 'the drop-in beside gobreaker, 100,000 random programs'
	(cd .. && go test -count=1 ./contrib/gobreaker && go test -count=1 ./bench/peers/dropin -programs 100000)
}

platforms() {
	step 'other processors'
	bash platforms.sh short
}

for part in "${@:-histories schedules coherence model properties fuzz scenarios soak knobs dropin platforms}"; do
	for p in $part; do
		case $p in
		histories | schedules | coherence | model | properties | fuzz | scenarios | soak | knobs | dropin | platforms) "$p" ;;
		*)
			echo "verify: no part is named '$p'; see the head of verify/run.sh" >&2
			exit 2
			;;
		esac
	done
done
step 'all passed'
