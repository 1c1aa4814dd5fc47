#!/usr/bin/env bash
# Measures the breaker, its twins behind a lock and the rivals:
#
#   bash bench/run.sh full     regenerates benchstat.txt, in under 15 minutes
#   bash bench/run.sh quick    prints the ratios of one load, in two minutes
#
# Nothing else may run meanwhile. With BENCH_RAW=FILE the results are kept there,
# in the format of Go benchmarks, for benchstat.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-}
case $mode in
full | quick) ;;
*) echo "bench/run.sh: say full or quick" >&2; exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
raw=${BENCH_RAW:-$work/raw.txt}
: >"$raw"

go test -c -o "$work/bench.test" ./bench
go test -c -o "$work/peers.test" ./bench/peers
go build -o "$work/measure" ./bench/peers/cmd/measure
go build -o "$work/report" ./bench/peers/cmd/report

busy=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo 0)
if awk -v b="$busy" 'BEGIN { exit !(b > 1) }'; then
	echo "bench/run.sh: the machine is busy (load $busy): figures for two processors will mean nothing" >&2
fi

# bench BINARY PATTERN BENCHTIME CPUS [MORE...] appends one round of results.
bench() {
	"$work/$1" -test.run '^$' -test.bench "$2" -test.benchtime "$3" -test.cpu "$4" "${@:5}" >"$work/round.txt" ||
		{ cat "$work/round.txt" >&2; exit 1; }
	cat "$work/round.txt" >>"$raw"
}

# What a call costs against how much there is of something.
growth='^Benchmark(Layout|Buckets|Stripes|Breakers|Failures)$'

# Pairs of new goroutines, each of which must work for long enough that waking the
# second processor does not matter.
pairs='^BenchmarkPairs$'

# Rounds, rather than -count, so that whatever drifts drifts for all, and so that
# each round lays out memory anew. Six make a confidence interval.
if [ "$mode" = quick ]; then
	for _ in 1 2 3; do
		bench bench.test . 10ms 1,2 -test.skip "$growth|$pairs"
		bench bench.test "$pairs" 200ms 2
		bench peers.test '^Benchmark(Call|Floor)$/^(row|floor)=/^(impl|g)=/^(api=|$)/^g=1$' 5ms 2
	done
	"$work/report" -command "make bench-quick" "$raw"
	exit
fi

for round in 1 2 3 4 5 6 7 8 9 10; do
	bench bench.test . 30ms 1,2 -test.skip "$growth|$pairs"
	[ "$round" -gt 6 ] || bench bench.test "$pairs" 300ms 2
	[ "$round" -gt 6 ] || bench bench.test "$growth" 20ms 1,2
	[ "$round" -gt 6 ] || bench peers.test . 10ms 1,2
done
"$work/measure" tails -bench >>"$raw"
"$work/measure" memory -bench >>"$raw"
"$work/measure" stress -for 3s -probe-for 2s -bench >>"$raw"
go run ./verify/coherence/simulate -bench >>"$raw" # simulated: nothing is timed
"$work/report" -command "make bench" "$raw" >"$work/benchstat.txt"
mv "$work/benchstat.txt" benchstat.txt
echo "benchstat.txt: $(grep -c MISSED benchstat.txt || true) targets missed"
