#!/usr/bin/env bash
# A million schedules of recorders over the last calls, then a billion
# operations with faults: bash verify/soak.sh [-ops N] [-time D] [-seed N]
set -euo pipefail
cd "$(dirname "$0")"
go test -count=1 ./interleave -run TestLastCallsAtRest -last 1000000
exec go run ./soak "$@"
