#!/usr/bin/env bash
# The core's tests on other processors: on 386 (32 bits) as they are, where this is
# amd64, and under qemu's user mode on arm64, arm (32 bits) and s390x (big endian).
#
#	bash verify/platforms.sh [short|all]
set -euo pipefail
cd "$(dirname "$0")/.."

core='./ring ./clock ./atomicbreaker'
for arch in 386 arm64 arm s390x; do
	# shellcheck disable=SC2086
	GOARCH=$arch CGO_ENABLED=0 go vet $core
done
echo 'vetted for 386, arm64, arm and s390x'

if [ "$(go env GOHOSTARCH)" = amd64 ]; then
	echo '-- 386'
	# shellcheck disable=SC2086
	GOARCH=386 CGO_ENABLED=0 go test -count=1 $core ./contrib/breakerhttp ./contrib/gobreaker
else
	echo '######## NOT CHECKED: 386. Only an amd64 machine runs it. ########'
fi

if ! command -v qemu-s390x >/dev/null; then
	{ apt-get update && apt-get install -y --no-install-recommends qemu-user; } >/dev/null 2>&1 || true
fi
if ! command -v qemu-s390x >/dev/null; then
	echo '######## NOT CHECKED: other processors. Install qemu-user (Debian: apt-get install qemu-user). ########'
	exit 0
fi

# The runtime preempts by signals, which qemu delivers badly.
export GODEBUG=asyncpreemptoff=1 CGO_ENABLED=0
filter='Table|Word|Bits|Tagged|Streak|Evidence|Trial|Layout|Wrap|Halve|Silence|Slow|Bucket|Ring|Last|Manual|Text'
[ "${1:-short}" = all ] && filter=.
for pair in arm64:aarch64 arm:arm s390x:s390x; do
	echo "-- ${pair%%:*}"
	# shellcheck disable=SC2086
	GOARCH=${pair%%:*} go test -count=1 -short -timeout 20m -exec "qemu-${pair##*:}" -run "$filter" $core
done
