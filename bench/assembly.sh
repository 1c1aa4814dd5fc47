#!/usr/bin/env bash
# Compares the machine code of the hot path with that of another revision:
#
#   bash bench/assembly.sh REVISION
#
# Silent, and exits with 0, if every instruction is the same but for addresses.
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:?say which revision}

hot='\.\(\*(Breaker|Ticket)\)\.(Ready|readySlow|Acquire|acquireSlow|Do|Done|Report|Cancel|settle|countSuccess|countClosed|noteBad)$'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# code DIR prints the instructions of the hot path as DIR builds them.
code() {
	(cd "$1" && GOFLAGS=-trimpath go test -c -o "$work/test" ./bench)
	go tool objdump -s "atomicbreaker$hot" "$work/test" | sed -E \
		-e '/^TEXT/ s/ \S+$//' \
		-e 's/^ *[A-Za-z_0-9]+\.go:[0-9]+\s+0x[0-9a-f]+\s+[0-9a-f]+\s+//' \
		-e 's/0x[0-9a-f]+\(IP\)/ADDRESS/g' -e 's/0x[0-9a-f]{6,}/ADDRESS/g'
}

mkdir "$work/other"
git archive "$revision" | tar -x -C "$work/other"
code . >"$work/here.txt"
code "$work/other" >"$work/there.txt"
grep -q '^TEXT.*Acquire' "$work/here.txt" || { echo "bench/assembly.sh: nothing was compared" >&2; exit 2; }
diff "$work/there.txt" "$work/here.txt"
