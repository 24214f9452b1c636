#!/usr/bin/env bash
# Installs what scores WebArena-Verified's tasks, and its tasks, into .cache/webarena_verified:
#   ./launch/webarena_verified.sh
#
# The evaluators have an environment of their own, by launch/webarena_verified.lock, with hashes: they pin pydantic and pint.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
[ $# = 0 ] || fail "webarena_verified.sh takes nothing; got '$1'."

folder="$root/.cache/webarena_verified"
install_evaluators() (
    set -e
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$python" -I -X utf8 -m venv --clear --without-pip "$folder"
    "$python" -I -X utf8 -m pip --disable-pip-version-check --python "$folder/bin/python" install -q --no-deps \
        --require-hashes -r "$root/launch/webarena_verified.lock"
    "$folder/bin/python" -I -X utf8 -m compileall -q -j 0 "$folder/lib" || true
)

mkdir -p "$work" "$root/.cache"
made_by=$({ cat "$root/launch/webarena_verified.lock"; "$python" -V; echo "$folder"; } | sha256sum)
[ "$(cat "$folder/made-by" 2>/dev/null)" = "$made_by" ] || {
    step "installing WebArena-Verified's evaluators" install_evaluators ||
        fail "The packages of launch/webarena_verified.lock could not be installed; $work/log says why."
    printf '%s\n' "$made_by" >"$folder/made-by"
}
