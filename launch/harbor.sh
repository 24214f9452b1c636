#!/usr/bin/env bash
# Installs Harbor (0.26.0) in a Python of its own, .cache/harbor (430 MB), with our computers as an environment of it:
#   ./launch/harbor.sh                       # installs; what is there already is kept
#   ./launch/harbor.sh run -p TASKS ...      # then Harbor's own command, as .cache/harbor/bin/harbor
#
# Harbor takes Python 3.12 to 3.14: TARS_JAX_HARBOR_PYTHON, or the first that serves on the PATH or among those of pyenv.
# Nothing of .venv is needed or moved; jax is not there. launch/harbor.lock has hashes, and leaves out what Harbor never
# imports for trials on this machine: the clients of Amazon's cloud (boto3) and hf-xet, 50 MB.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/machine.sh"
folder="$root/.cache/harbor"

# Of 3.12 or later, and one that can make virtual environments
serves_harbor() {
    serves "$1" >/dev/null && "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 12))' && has_venv "$1"
}

harbor_python() {
    local candidate
    if [ -n "${TARS_JAX_HARBOR_PYTHON:-}" ]; then
        serves_harbor "$TARS_JAX_HARBOR_PYTHON" && printf '%s\n' "$TARS_JAX_HARBOR_PYTHON" && return
        fail "TARS_JAX_HARBOR_PYTHON must be a CPython 3.12 to 3.14 that can make virtual environments; got $TARS_JAX_HARBOR_PYTHON."
    fi
    while read -r candidate; do
        serves_harbor "$candidate" && printf '%s\n' "$candidate" && return
    done < <(type -aP python3.{12..14} python3; ls -d "${PYENV_ROOT:-${HOME:-/root}/.pyenv}"/versions/3.1[2-4]*/bin/python 2>/dev/null)
    fail "Harbor takes a CPython 3.12 to 3.14 that can make virtual environments, and none was found: install one, or set TARS_JAX_HARBOR_PYTHON to its path."
}

# The repository comes last on its path, as a file that Python reads whatever the letters of the path are.
install_harbor() (
    set -e
    "$1" -I -X utf8 -m venv --clear "$folder"
    python="$folder/bin/python"
    locked_pip --no-deps -r "$root/launch/harbor.lock"
    site=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    path_file >"$site/tars_jax.pth"
    "$python" -I -X utf8 -m compileall -q -j 0 "$site" || true
)

made_by="$(sha256sum <"$root/launch/harbor.lock") $root"
if [ "$(cat "$folder/made-by" 2>/dev/null)" != "$made_by" ]; then
    mkdir -p "$work"
    chosen=$(harbor_python)
    step "installing Harbor with $chosen (a minute)" install_harbor "$chosen" ||
        fail "The packages of launch/harbor.lock could not be installed; $work/log says why."
    printf '%s\n' "$made_by" >"$folder/made-by"
fi
# Nothing is told to Harbor's makers, and prices of models are read from its own copy.
export HARBOR_TELEMETRY="${HARBOR_TELEMETRY:-0}" LITELLM_LOCAL_MODEL_COST_MAP="${LITELLM_LOCAL_MODEL_COST_MAP:-True}"
[ $# -eq 0 ] || exec "$folder/bin/harbor" "$@"
"$folder/bin/harbor" --version
