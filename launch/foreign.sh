#!/usr/bin/env bash
# Makes the Python in which environments of `verifiers` and `skyrl-gym` run, .cache/foreign (500 MB), and tries it:
#   ./launch/foreign.sh
#
# Their packages need other versions of what ours need: launch/foreign.lock has them, with hashes, for verifiers 0.3.1 (the
# last one with `load_environment`; it does not work with openai 3) and skyrl-gym 0.4.0. An environment's own package goes
# in beside them: .cache/foreign/bin/pip install PACKAGE.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

folder="$root/.cache/foreign"
if ! cmp -s "$root/launch/foreign.lock" "$folder/lock"; then
    step "making $folder" "$python" -I -X utf8 -m venv --clear "$folder" || fail "$folder could not be made; $work/log says why."
    python="$folder/bin/python"
    step "installing verifiers and skyrl-gym (minutes)" locked_pip -r "$root/launch/foreign.lock" ||
        fail "The packages of launch/foreign.lock could not be installed; $work/log says why."
    site=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    # Files for other Pythons, which nobody imports, cannot be compiled.
    step "compiling them" "$python" -I -X utf8 -c '
import compileall, sys
compileall.compile_dir(sys.argv[1], quiet=2, workers=0)' "$site"
    cp "$root/launch/foreign.lock" "$folder/lock"
fi
"$folder/bin/python" -I -X utf8 -c '
import importlib.metadata, skyrl_gym, verifiers
print(*(f"{name} {importlib.metadata.version(name)}" for name in ("verifiers", "skyrl-gym")), sep=", ")
'
