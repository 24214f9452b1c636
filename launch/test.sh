#!/usr/bin/env bash
# Sets up what is missing, then checks style, types and behavior; further arguments go to pytest:
#   ./launch/test.sh [-m "not browser"] [tests/rl] [-x] ...
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}
failed=() unsteady=()
log=$(mktemp)
cache=$(mktemp -d)
trap 'rm -rf "$log" "$cache"' EXIT

check() {
    local name=$1 start=$SECONDS
    shift
    "$python" -m "$@" </dev/null || failed+=("$name")
    printf 'test: %s took %d s\n' "$name" $((SECONDS - start))
}

# One more process than CI has cores: a third of the time they wait.
tests() {
    "$python" -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=20 -o cache_dir="$cache" "$@" </dev/null
}

# Tests that start browsers and services share two cores with others. Up to three that failed run once more, alone;
# those that pass then are named in the last lines, since somebody should find out what they waited for.
again_alone() {
    local names
    names=$("$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$cache/v/cache/lastfailed") || return
    [ "$(wc -l <<<"$names")" -le 3 ] || return
    printf 'test: once more, alone:\n%s\n' "$names"
    "$python" -m pytest -o cache_dir="$cache" --last-failed "$@" </dev/null && mapfile -t unsteady <<<"$names"
}

check "ruff check" ruff check .
check "ruff format" ruff format --check .
# Beside pytest, which leaves a part of two cores idle.
"$python" -m mypy </dev/null >"$log" 2>&1 &
types=$!
start=$SECONDS status=0
tests "$@" || status=$?
[ "$status" != 1 ] || { again_alone "$@" && status=0; } || true
[ "$status" = 0 ] || failed+=("pytest")
printf 'test: pytest took %d s\n' $((SECONDS - start))
wait "$types" || failed+=("mypy")
cat "$log"

if [ ${#unsteady[@]} -gt 0 ]; then
    printf 'test: failed beside other tests, and passed alone: %s\n' "${unsteady[@]}"
fi
if [ ${#failed[@]} -gt 0 ]; then
    printf 'test: failed:%s\n' "$(printf ' %s,' "${failed[@]}" | sed 's/,$//')" >&2
    exit 1
fi
echo "test: all passed"
