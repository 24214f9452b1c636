#!/usr/bin/env bash
# Installs the package that grades SWE-bench, 5.0.2, into .cache/swe_bench (10 MB), by launch/swe_bench.lock with its hash:
#   ./launch/swe_bench.sh
#
# Of what it asks for, its grading functions import unidiff alone: nothing of its runner (Docker, datasets, modal) comes with it.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/own_environment.sh"
[ $# = 0 ] || fail "swe_bench.sh takes nothing; got '$1'."

own_environment "$python" "$root/.cache/swe_bench" "$root/launch/swe_bench.lock" "installing swebench's grading functions"
