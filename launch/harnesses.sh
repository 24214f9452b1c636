#!/usr/bin/env bash
# Installs agent frameworks of others, whose programs play episodes against the policy server, into .cache/harnesses/NAME:
#   ./launch/harnesses.sh                            # all of launch/harnesses/
#   ./launch/harnesses.sh openai-agents smolagents   # some of them
#
# Each has an environment of its own, by launch/harnesses/NAME.lock, with hashes, made with the Python that runs programs in
# computers, so that it runs inside one as well. Their locks leave out what the programs here never import: of mini-swe-agent
# what its benchmarks and its terminal pages ask for (datasets, textual), half a gigabyte; of browser-use the clients of other
# clouds (Google's, Groq's, Ollama's) and what writes PDFs. browser-use takes a Chromium that is there.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/guest_packages.sh"

locks="$root/launch/harnesses"
known=()
for lock in "$locks"/*.lock; do known+=("$(basename "$lock" .lock)"); done
[ $# -gt 0 ] || set -- "${known[@]}"
for name; do
    [ -f "$locks/$name.lock" ] || fail "The names must be of ${known[*]}; got '$name'."
done

# install_harness NAME FOLDER: anybody may read it, whatever the umask
install_harness() (
    set -e
    umask 022
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$guest" -I -X utf8 -m venv --clear --without-pip "$2"
    "$python" -I -X utf8 -m pip --disable-pip-version-check --python "$2/bin/python" install -q --no-deps --no-compile \
        --require-hashes -r "$locks/$1.lock"
    site=$("$2/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    # Whoever runs it may not write beside it, and would compile it anew at every start. Some files are for other Pythons.
    "$2/bin/python" -I -X utf8 -m compileall -q -j 0 "$site" || true
)

mkdir -p "$work" "$root/.cache/harnesses"
guest=$(guest_python)
for name; do
    folder="$root/.cache/harnesses/$name"
    made_by=$({ cat "$locks/$name.lock"; echo "$guest $folder"; } | sha256sum)
    [ "$(cat "$folder/made-by" 2>/dev/null)" = "$made_by" ] || {
        step "installing $name" install_harness "$name" "$folder" ||
            fail "The packages of launch/harnesses/$name.lock could not be installed; $work/log says why."
        printf '%s\n' "$made_by" >"$folder/made-by"
    }
done
