#!/usr/bin/env bash
# Checks the Promela model of the breaker, and sees that broken models are
# rejected: bash verify/model/run.sh [mutants]
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v spin >/dev/null; then
	{ apt-get update && apt-get install -y --no-install-recommends spin gcc libc6-dev; } >/dev/null 2>&1 || true
fi
if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
	echo '######## NOT CHECKED: the model. Install spin and gcc (Debian: apt-get install spin gcc). ########'
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# check MODEL SEARCH SECONDS DEFINES...: prints a line and fails on an error.
# A search is "all", every state; "breadth", nearest states first, for errors
# that are expected; or "hashed": as many as the time allows, each
# remembered by three bits of a hash (Spin's bit-state search): an error that it
# finds is one, but a few states in a thousand may be left out.
check() {
	local model=$1 search=$2 seconds=$3 dir flags
	shift 3
	dir=$(mktemp -d -p "$tmp")
	cp "$model" "$dir/breaker.pml"
	flags=(-O2 -DSAFETY -DVECTORSZ=2048)
	case $search in
	all) flags+=(-DCOLLAPSE -DMEMLIM=4000) ;;
	breadth) flags+=(-DCOLLAPSE -DMEMLIM=4000 -DBFS) ;;
	hashed) flags+=(-DBITSTATE) ;;
	esac
	(cd "$dir" && spin -a "$@" breaker.pml >spin.out </dev/null && gcc "${flags[@]}" -w -o pan pan.c) || { cat "$dir/spin.out"; return 2; }
	local began=$SECONDS options=(-m200000)
	if [ "$search" = hashed ]; then options+=(-w30 -k3); fi
	(cd "$dir" && timeout --foreground "$seconds" ./pan "${options[@]}" >pan.out 2>&1 </dev/null) || true
	local errors states
	errors=$(grep -aoE 'errors: [0-9]+' "$dir/pan.out" | head -1 || true)
	states=$(grep -aoE '[0-9.e+]+ states, stored' "$dir/pan.out" | head -1 || true)
	if [ -z "$states" ]; then states="more than $(grep -aoE 'States= *[0-9.e+]+' "$dir/pan.out" | tail -1 | grep -oE '[0-9.e+]+$' || echo 0) states, time over"; fi
	if grep -aqE '^pan:[0-9]+: (assertion violated|invalid end)' "$dir/pan.out"; then
		echo "    $* ($search): $(grep -aoE '^pan:[0-9]+: .*' "$dir/pan.out" | head -1)"
		return 1
	fi
	if [ "$search" = all ] && [ "$errors" != 'errors: 0' ]; then
		echo "    $*: not every state was reached in $seconds s; give it more time"
		return 1
	fi
	echo "    $* ($search): $states, no error, $((SECONDS - began)) s"
}

configurations=(
	"all 300 -DCALLERS=2 -DCALLS=1"
	"all 300 -DBRAKE -DCALLERS=1 -DCALLS=2"
	"all 300 -DHALFOPEN -DCALLERS=1 -DCALLS=2"
	"all 300 -DHALFOPEN -DCALLERS=1 -DCALLS=1 -DTWICE"
	"hashed ${MODEL_SECONDS:-20} -DHALFOPEN -DCALLERS=1 -DCALLS=1 -DOPERATOR"
	"hashed ${MODEL_SECONDS:-20} -DBRAKE -DCALLERS=2 -DCALLS=1"
	"hashed ${MODEL_SECONDS:-20} -DHALFOPEN -DCALLERS=2 -DCALLS=1"
	"hashed ${MODEL_SECONDS:-20} -DHALFOPEN -DCALLERS=3 -DCALLS=1"
)

echo 'model: breaker.pml'
only=${1-}
for c in "${configurations[@]}"; do
	[ "$only" = mutants ] && break
	# shellcheck disable=SC2086
	check breaker.pml $c
done

# Each line of mutants.txt: name | configurations' defines | sed script.
rejected=0
while IFS='|' read -r name defines script; do
	[[ -z $name || $name == \#* ]] && continue
	sed -E "$script" breaker.pml >"$tmp/mutant.pml"
	if cmp -s breaker.pml "$tmp/mutant.pml"; then
		echo "model: the mutant '$name' changes nothing; bring its sed script up to date"
		exit 1
	fi
	# shellcheck disable=SC2086
	if check "$tmp/mutant.pml" breadth 30 $defines >"$tmp/out" && check "$tmp/mutant.pml" all 300 $defines >"$tmp/out"; then
		cat "$tmp/out"
		echo "model: the mutant '$name' is not rejected"
		exit 1
	fi
	grep -qaE 'pan:[0-9]+: (assertion violated|invalid end)' "$tmp/out" || { cat "$tmp/out"; echo "model: the mutant '$name' has no verdict"; exit 1; }
	rejected=$((rejected + 1))
	printf '    rejected: %s\n' "$name"
done <mutants.txt
echo "model: no error; $rejected mutants rejected"
