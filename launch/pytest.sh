# shellcheck shell=bash
# Runs tests side by side, and what failed once more alone. Sourced by test.sh and .ci/run, which set $python
# and pipefail.

# run_pytest ARGUMENTS: pytest's exit status. Tests that start browsers and services share two cores with others, so up to
# three that failed run once more, alone. What passes then is a defect of that test, or of what it tests: $unsteady has its
# name and what it waited for. $skipped has what did not run, as "COUNT REASON".
run_pytest() {
    local folder status=0
    folder=$(mktemp -d)
    unsteady=()
    # Twice as many processes as CI has cores: more than half of the time they wait. Bytecode is kept, whatever the
    # environment says: without it each process that a test starts compiles all that it imports.
    (
        files=$(mktemp -d)
        trap 'umount -l "$files" 2>/dev/null; rm -rf "$files"' EXIT
        in_memory "$files"
        COLUMNS=200 PYTHONDONTWRITEBYTECODE='' "$python" -m pytest -n 4 --dist loadfile --no-loadscope-reorder \
            --durations=20 --basetemp="$files/pytest" -o tmp_path_retention_policy=failed -o cache_dir="$folder/cache" "$@"
    ) </dev/null 2>&1 | tee "$folder/log" || status=$?
    mapfile -t skipped < <(skip_reasons "$folder/log")
    if [ "$status" = 1 ] && pytest_alone "$folder" "$@"; then status=0; fi
    rm -rf "$folder"
    return "$status"
}

# Tests write many small files, each of which waits for the disk: where root may and there is plenty of memory, they lie
# in it. Not in /dev/shm, as computers have a /dev of their own and would not see what tests show them.
in_memory() {
    local memory
    memory=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null)
    [ "$(id -u)" != 0 ] || [ "${memory:-0}" -lt 12000000 ] ||
        mount -t tmpfs -o size=8g,mode=700 tars_jax-tests "$1" 2>/dev/null || true
}

# Of the lines "SKIPPED [3] FILE:LINE: REASON", by reason.
skip_reasons() {
    sed -nE 's/^SKIPPED \[([0-9]+)\] .*\.py(:[0-9]+)?: (Skipped: )?/\1\t/p' "$1" |
        awk -F'\t' '{count[$2] += $1} END {for (reason in count) printf "%d %s\n", count[reason], reason}' | sort -rn
}

pytest_alone() {
    local folder=$1 names
    shift
    names=$("$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' \
        "$folder/cache/v/cache/lastfailed") || return
    [ "$(wc -l <<<"$names")" -le 3 ] || return
    printf 'test: once more, alone:\n%s\n' "$names"
    "$python" -m pytest -o cache_dir="$folder/cache" --last-failed "$@" </dev/null &&
        mapfile -t unsteady < <(sed -nE 's/^(FAILED|ERROR) //p' "$folder/log")
}

say_unsteady() {
    [ ${#unsteady[@]} = 0 ] || printf 'test: a defect, as it failed beside other tests and passed alone: %s\n' "${unsteady[@]}"
}

say_skipped() {
    [ ${#skipped[@]} = 0 ] || printf 'test: skipped %s\n' "${skipped[@]}"
}
