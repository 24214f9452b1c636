# shellcheck shell=bash
# Makes what the commands need, and skips what is done: .venv with the locked packages, and a headless Chromium.
#
# Sourced by local.sh and test.sh, which run under `set -euo pipefail` and set $root. Sets $python and exports
# TARS_JAX_CHROMIUM, the browser's path. Needs Python 3.11 or later and a package registry; as root it may install
# Debian packages, otherwise it writes nothing outside the repository but the caches of pip, npm and Playwright.

python="$root/.venv/bin/python"
stamp="$root/.venv/setup-stamp"
. "$root/launch/chromium.sh"

# ---- Python

find_python() {
    local candidate
    for candidate in python3.11 python3.12 python3.13 python3.14 python3; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11) or print(sys.executable))' 2>/dev/null && return
    done
    return 1
}

make_venv() {
    local base package
    base=$(find_python) ||
        fail "No Python of version 3.11 or later is on the PATH: install one (as root: apt-get install python3-venv)."
    package=$("$base" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
        root_with_apt || fail "$base cannot make virtual environments: install $package (as root: apt-get install $package)."
        step "installing $package" apt_install "$package" || fail "apt-get could not install $package; $work/log says why."
    fi
    step "making .venv with $base" "$base" -m venv --clear "$root/.venv" ||
        fail "$base could not make $root/.venv; $work/log says why."
}

install_packages() {
    "$python" -m pip --version >/dev/null 2>&1 || make_venv
    step "installing the locked packages (minutes, the first time)" \
        "$python" -m pip install --no-compile --disable-pip-version-check --require-hashes -r "$root/requirements.lock" ||
        fail "The packages of requirements.lock could not be installed; $work/log says why."
    local site
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    # pip would compile on one core. Some packages hold files for other Pythons, which nobody imports.
    step "compiling them" "$python" -m compileall -q -j 0 "$site" || true
    # The project itself needs no build: its folder is on the environment's path.
    printf '%s\n' "$root" >"$site/tars_jax.pth"
}

# ---- What is done is done: the stamp holds the lock file's hash, the repository's place and the browser's path.

set_up() {
    local wanted done_for found given
    wanted="$(sha256sum <"$root/requirements.lock") $root"
    { read -r done_for && read -r found; } 2>/dev/null <"$stamp" || done_for=
    if [ "$done_for" = "$wanted" ] && [ -x "$python" ] && [ -x "${TARS_JAX_CHROMIUM:-$found}" ]; then
        TARS_JAX_CHROMIUM=${TARS_JAX_CHROMIUM:-$found}
        return
    fi
    mkdir -p "$work" && : >"$work/log"
    [ "$done_for" = "$wanted" ] && [ -x "$python" ] || install_packages
    given=${TARS_JAX_CHROMIUM:-}
    provide_driver
    provide_chromium
    [ -n "$given" ] && found= || found=$TARS_JAX_CHROMIUM # one given by hand holds for this start only
    printf '%s\n%s\n' "$wanted" "$found" >"$stamp"
}

# jax finds the TPU compiler of pod_plan, and would look for a TPU and complain on stderr that there is none.
accelerator() {
    compgen -G '/dev/accel*' || compgen -G '/dev/vfio/[0-9]*' || compgen -G '/dev/nvidia[0-9]*' || compgen -G '/dev/dxg' ||
        compgen -G '/dev/kfd'
}

set_up
export TARS_JAX_CHROMIUM
accelerator >/dev/null || export JAX_PLATFORMS=${JAX_PLATFORMS:-cpu}
