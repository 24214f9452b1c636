# shellcheck shell=bash
# Runs tests side by side, and what failed once more alone. Sourced by test.sh and .ci/run, which set $python.

# run_pytest ARGUMENTS: pytest's exit status. Tests that start browsers and services share two cores with others, so up to
# three that failed run once more, alone; $unsteady has the names of those that pass then, since somebody should find out
# what they waited for.
run_pytest() {
    local cache status=0
    cache=$(mktemp -d)
    unsteady=()
    # One more process than CI has cores: a third of the time they wait.
    "$python" -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=20 -o cache_dir="$cache" "$@" \
        </dev/null || status=$?
    if [ "$status" = 1 ] && pytest_alone "$cache" "$@"; then status=0; fi
    rm -rf "$cache"
    return "$status"
}

pytest_alone() {
    local cache=$1 names
    shift
    names=$("$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$cache/v/cache/lastfailed") || return
    [ "$(wc -l <<<"$names")" -le 3 ] || return
    printf 'test: once more, alone:\n%s\n' "$names"
    "$python" -m pytest -o cache_dir="$cache" --last-failed "$@" </dev/null && mapfile -t unsteady <<<"$names"
}

say_unsteady() {
    [ ${#unsteady[@]} = 0 ] || printf 'test: failed beside other tests, and passed alone: %s\n' "${unsteady[@]}"
}
