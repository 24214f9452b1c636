#!/usr/bin/env bash
# Installs what scores WebArena-Verified's tasks, and its tasks, into .cache/webarena_verified:
#   ./launch/webarena_verified.sh
#
# The evaluators have an environment of their own, by launch/webarena_verified.lock, with hashes: they pin pydantic and pint.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/own_environment.sh"
[ $# = 0 ] || fail "webarena_verified.sh takes nothing; got '$1'."

own_environment "$python" "$root/.cache/webarena_verified" "$root/launch/webarena_verified.lock" \
    "installing WebArena-Verified's evaluators"
