#!/usr/bin/env bash
# A million drawn schedules of the ring at a bucket's turn, then a storm of
# turnovers and a billion operations with faults:
# bash verify/soak.sh [-ops N] [-time D] [-seed N] [-storm D]
set -euo pipefail
cd "$(dirname "$0")"
go test -count=1 -timeout 1h -v ./interleave -run TestDrawnSchedules -draws "${DRAWS:-1000000}" -from 1000000 |
	grep -E 'explored|seed|^ok|FAIL' | sed 's/^ *interleave_test.go:[0-9]*: *//'
exec go run ./soak "$@"
