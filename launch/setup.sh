# shellcheck shell=bash
# Makes what the commands need, and skips what is done: .venv with the locked packages, and a headless Chromium.
#
# Sourced by local.sh and test.sh, which run under `set -euo pipefail` and set $root. Sets $python and exports
# TARS_JAX_CHROMIUM, the browser's path. Needs Python and a package registry (machine.sh says what else it asks of a
# machine); as root it may install Debian packages, otherwise it writes nothing outside the repository but the caches of
# pip and npm. Two variables choose:
#   TARS_JAX_PYTHON=python3.13    the interpreter; an environment that was made with another one is made anew
#   TARS_JAX_VENV=DIRECTORY       where the environment lies instead of .venv; each checkout has its own

venv=$(realpath -m "${TARS_JAX_VENV:-$root/.venv}")
python="$venv/bin/python"
stamp="$venv/setup-stamp"
. "$root/launch/chromium.sh"

make_venv() {
    if ! has_venv "$base"; then
        step "installing $venv_package" apt_install "$venv_package" ||
            fail "apt-get could not install $venv_package; $work/log says why."
    fi
    step "making $venv with $base" "$base" -I -X utf8 -m venv --clear "$venv" ||
        fail "$base could not make $venv; $work/log says why."
}

install_packages() {
    step "installing the locked packages (minutes, the first time)" locked_pip -r "$root/requirements.lock" ||
        fail "The packages of requirements.lock could not be installed; $work/log says why$(clock_doubt)."
    local site
    site=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    # pip would compile on one core. Some packages hold files for other Pythons, which nobody imports.
    step "compiling them" "$python" -I -X utf8 -m compileall -q -j 0 "$site" || true
    # The project itself needs no build: its folder is on the environment's path.
    path_file >"$site/tars_jax.pth"
}

clock_doubt() {
    ! grep -qE 'certificate (is not yet valid|has expired)' "$work/log" ||
        printf ' (certificates are out of date to this machine: is it the %s, as its clock says?)' "$(date +%F)"
}

# ---- What is done is done. The stamp holds the lock file's hash, the places of the interpreter and of the repository;
# the browser; and the Node.js that Playwright's driver runs on, where its own does not run.

wanted() {
    printf '%s %s %s\n' "$(sha256sum <"$root/requirements.lock" | cut -d' ' -f1)" "$(readlink -f "$python")" "$root"
}

stands() {
    [ -x "$python" ] && [ "$(sed -n 1p "$stamp" 2>/dev/null)" = "$(wanted)" ] && is_asked_for
}

is_asked_for() {
    local given
    [ -z "${TARS_JAX_PYTHON:-}" ] ||
        { given=$(serves "$TARS_JAX_PYTHON") && [ "$(readlink -f "$given")" = "$(readlink -f "$python")" ]; }
}

# An environment that somebody made serves, and one of an older lock file, unless another interpreter is asked for.
venv_serves() {
    "$python" -I -X utf8 -m pip --version >/dev/null 2>&1 </dev/null && serves "$python" >/dev/null && is_asked_for
}

ready() {
    stands || return
    local browser=${TARS_JAX_CHROMIUM:-$(sed -n 2p "$stamp")}
    [ -x "$browser" ] && TARS_JAX_CHROMIUM=$browser driver_node=$(sed -n 3p "$stamp")
}

# Its path file names one checkout: another one's commands would run this one's code from then on.
check_not_of_another_checkout() {
    local other=
    [ ! -e "$stamp" ] || read -r _ _ other <"$stamp" || true # of a set-up that was killed
    [ "$other" = "$root" ] || [ ! -e "$other/launch/setup.sh" ] ||
        fail "TARS_JAX_VENV must be a folder of this checkout's own; got '$venv', the environment of $other"
}

set_up() {
    ! ready || return 0
    check_not_of_another_checkout
    local given=${TARS_JAX_CHROMIUM:-}
    venv_serves || check_machine
    check_writable
    check_given_chromium # before another's set-up is waited for
    mkdir -p "$work" "$(dirname "$venv")"
    exec 9>"$work/lock" # two commands may start together: one sets up, the other finds it done
    flock 9
    if ! ready; then
        : >"$work/log"
        stands || { venv_serves || make_venv; install_packages; }
        provide_driver
        provide_chromium
        # A browser given by hand holds for this start only.
        printf '%s\n%s\n%s\n' "$(wanted)" "$([ -n "$given" ] || echo "$TARS_JAX_CHROMIUM")" "$driver_node" >"$stamp"
    fi
    exec 9>&-
}

# jax finds the TPU compiler of pod_plan, and would look for a TPU and complain on stderr that there is none.
accelerator() {
    compgen -G '/dev/accel*' || compgen -G '/dev/vfio/[0-9]*' || compgen -G '/dev/nvidia[0-9]*' || compgen -G '/dev/dxg' ||
        compgen -G '/dev/kfd'
}

adapt_environment
set_up
export TARS_JAX_CHROMIUM
[ -z "$driver_node" ] || export PLAYWRIGHT_NODEJS_PATH=$driver_node
accelerator >/dev/null || export JAX_PLATFORMS=${JAX_PLATFORMS:-cpu}
