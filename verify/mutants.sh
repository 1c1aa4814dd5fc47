#!/usr/bin/env bash
# Breaks every guarantee and sees that a check notices: bash verify/mutants.sh [-match text] [-list]
set -euo pipefail
cd "$(dirname "$0")"
exec go run ./mutants "$@"
