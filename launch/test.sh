#!/usr/bin/env bash
# Sets up what is missing, then checks style, types and behavior; further arguments go to pytest:
#   ./launch/test.sh [-m "not browser"] [tests/rl] [-x] ...
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/pytest.sh"

export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}
failed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

check() {
    local name=$1 start=$SECONDS
    shift
    "$python" -m "$@" </dev/null || failed+=("$name")
    printf 'test: %s took %d s\n' "$name" $((SECONDS - start))
}

check "ruff check" ruff check .
check "ruff format" ruff format --check .
# Beside pytest, which leaves a part of two cores idle.
"$python" -m mypy </dev/null >"$log" 2>&1 &
types=$!
start=$SECONDS
run_pytest "$@" || failed+=("pytest")
printf 'test: pytest took %d s\n' $((SECONDS - start))
wait "$types" || failed+=("mypy")
cat "$log"

say_unsteady
say_skipped
if [ ${#failed[@]} -gt 0 ]; then
    printf 'test: failed:%s\n' "$(printf ' %s,' "${failed[@]}" | sed 's/,$//')" >&2
    exit 1
fi
echo "test: all passed"
