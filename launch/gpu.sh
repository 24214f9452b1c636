#!/usr/bin/env bash
# Sets up what is missing and runs one experiment on this machine's NVIDIA GPU, as local.sh does on processors:
#   ./launch/gpu.sh on_device [--config.run=RUN] [--config.FIELD=VALUE ...]
#
# Makes .venv-gpu from requirements.lock and the extras gpu, quantization and on_device of pyproject.toml, by pip's own
# registry, and provides a Chromium as setup.sh does. Two variables choose:
#   TARS_JAX_PYTHON=python3      the interpreter; one that has jax already is used as it is (then for GPU, with flax,
#                                optax, numpy and pillow), which serves a machine that reaches no registry
#   TARS_JAX_WHEELS=DIRECTORY    wheels of what such a one lacks, such as ml_collections and qwix
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv-gpu"
. "$root/launch/chromium.sh"

# The extras' packages as pip takes them, and the lock without hashes as constraints for what they need.
install_extras() {
    "$python" - "$root/pyproject.toml" <<'PYTHON' >"$venv/extras.txt"
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    extras = tomllib.load(file)["project"]["optional-dependencies"]
print(*extras["gpu"], *extras["quantization"], *extras["on_device"], sep="\n")
PYTHON
    grep -E '^[A-Za-z0-9._-]+(\[[a-z0-9,]+\])?==' "$root/requirements.lock" | sed 's/ *\\$//' >"$venv/constraints.txt"
    "$python" -m pip install --disable-pip-version-check -q -r "$venv/extras.txt" -c "$venv/constraints.txt"
}

make_venv() {
    local wanted
    wanted=$(cat "$root/requirements.lock" "$root/pyproject.toml" | sha256sum)
    python="$venv/bin/python"
    [ -x "$python" ] && [ "$(cat "$venv/stamp" 2>/dev/null)" = "$wanted" ] && return
    check_machine
    has_venv "$base" || apt_install "$venv_package" >&2 || fail "apt-get could not install $venv_package."
    echo "setup: making $venv with $base (minutes, the first time: CUDA's libraries are large)"
    "$base" -I -m venv --clear "$venv" || fail "$base could not make $venv."
    "$python" -m pip install --disable-pip-version-check -q --require-hashes -r "$root/requirements.lock" ||
        fail "The packages of requirements.lock could not be installed."
    install_extras || fail "The packages of the extras gpu, quantization and on_device could not be installed."
    printf '%s\n' "$wanted" >"$venv/stamp"
}

install_wheels() {
    local site
    site=$(mktemp -d)
    "$python" -m pip install --disable-pip-version-check -q --no-index --no-deps --no-compile --no-cache-dir \
        --target "$site" "$TARS_JAX_WHEELS"/*.whl || fail "The wheels of $TARS_JAX_WHEELS could not be installed."
    export PYTHONPATH="$PYTHONPATH:$site"
}

adapt_environment
export PYTHONPATH="$root${TARS_JAX_PYTHONPATH:+:$TARS_JAX_PYTHONPATH}"
if [ -n "${TARS_JAX_PYTHON:-}" ] && "$TARS_JAX_PYTHON" -c 'import jax' >/dev/null 2>&1; then
    python=$(command -v "$TARS_JAX_PYTHON")
    [ -z "${TARS_JAX_WHEELS:-}" ] || install_wheels
else
    [ -x "$venv/bin/python" ] || check_machine
    check_writable
    mkdir -p "$work"
    exec 9>"$work/gpu.lock" # processes of one machine start together: one sets up, the others find it done
    flock 9
    make_venv
    found=$(provide_driver >&2 && provide_chromium >&2 && printf '%s\n' "$TARS_JAX_CHROMIUM" "$driver_node") ||
        echo "setup: no Chromium; what plays on the device needs none" >&2
    exec 9>&-
    { read -r TARS_JAX_CHROMIUM && read -r driver_node; } <<<"$found" || true
    [ -z "$TARS_JAX_CHROMIUM" ] || export TARS_JAX_CHROMIUM
    [ -z "$driver_node" ] || export PLAYWRIGHT_NODEJS_PATH=$driver_node
fi

# In a process of its own, which gives the device back. --help alone sets up where there is no device, for an image.
[ "${1:-}" = --help ] || "$python" -P -c '
import importlib, sys
names = ("jax", "flax", "optax", "einops", "chex", "ml_collections", "yaml", "PIL")
missing = []
for name in names:
    try:
        importlib.import_module(name)
    except ImportError:
        missing.append(name)
if missing:
    sys.exit(f"{sys.executable} lacks {missing}: install them, or put their wheels into a folder that TARS_JAX_WHEELS names.")
import jax
if jax.default_backend() != "gpu":
    sys.exit(f"JAX finds no GPU here, only {jax.devices()}: is there a driver, and a jax with CUDA in {sys.executable}?")
print(f"setup: {jax.devices()[0].device_kind}, jax {jax.__version__}")
' || exit 2

export JAX_COMPILATION_CACHE_DIR=${JAX_COMPILATION_CACHE_DIR:-$root/.cache/jax-gpu}
export XLA_PYTHON_CLIENT_MEM_FRACTION=${XLA_PYTHON_CLIENT_MEM_FRACTION:-0.93}
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}
export PYTHONUNBUFFERED=1
exec "$python" -P -m experiments "$@"
