# An environment of its own for the packages of somebody else, by a lock file with hashes; sourced after setup.sh.

# own_environment PYTHON FOLDER LOCK WORDS: made once, and anew where the Python or the lock is another
own_environment() {
    local made_by
    mkdir -p "$work" "$(dirname "$2")"
    made_by=$({ cat "$3"; "$1" -V; echo "$1 $2"; } | sha256sum)
    [ "$(cat "$2/made-by" 2>/dev/null)" = "$made_by" ] || {
        step "$4" _make_environment "$1" "$2" "$3" || fail "The packages of ${3#"$root/"} could not be installed; $work/log says why."
        printf '%s\n' "$made_by" >"$2/made-by"
    }
}

# Anybody may read it, whatever the umask.
_make_environment() (
    set -e
    umask 022
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$1" -I -X utf8 -m venv --clear --without-pip "$2"
    "$python" -I -X utf8 -m pip --disable-pip-version-check --python "$2/bin/python" install -q --no-deps --no-compile \
        --require-hashes -r "$3"
    # Whoever runs it may not write beside it, and would compile it anew at every start. Some files are for other Pythons.
    "$2/bin/python" -I -X utf8 -m compileall -q -j 0 "$("$2/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" || true
)
