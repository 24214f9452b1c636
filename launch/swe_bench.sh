#!/usr/bin/env bash
# Installs the package that grades SWE-bench, 5.0.2, into .cache/swe_bench (10 MB), by launch/swe_bench.lock with its hash:
#   ./launch/swe_bench.sh
#
# Of what it asks for, its grading functions import unidiff alone: nothing of its runner (Docker, datasets, modal) comes with it.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
[ $# = 0 ] || fail "swe_bench.sh takes nothing; got '$1'."

folder="$root/.cache/swe_bench"
install_grader() (
    set -e
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$python" -I -X utf8 -m venv --clear --without-pip "$folder"
    "$python" -I -X utf8 -m pip --disable-pip-version-check --python "$folder/bin/python" install -q --no-deps \
        --require-hashes -r "$root/launch/swe_bench.lock"
)

mkdir -p "$work" "$root/.cache"
made_by=$({ cat "$root/launch/swe_bench.lock"; "$python" -V; echo "$folder"; } | sha256sum)
[ "$(cat "$folder/made-by" 2>/dev/null)" = "$made_by" ] || {
    step "installing swebench's grading functions" install_grader ||
        fail "The package of launch/swe_bench.lock could not be installed; $work/log says why."
    printf '%s\n' "$made_by" >"$folder/made-by"
}
