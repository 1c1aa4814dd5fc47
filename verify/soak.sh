#!/usr/bin/env bash
# A billion operations with faults: bash verify/soak.sh [-ops N] [-time D] [-seed N]
set -euo pipefail
cd "$(dirname "$0")"
exec go run ./soak "$@"
