# Packages for the Python that runs programs in computers, which need not be the environment's; sourced after setup.sh.

guest_python() {
    "$python" -c 'from tars_jax.sandbox.computer.contained_guest import guest_python; print(guest_python()[0])'
}

# guest_packages LOCK FOLDER: what the lock names, and nothing else, in a folder of its own
guest_packages() (
    set -e
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$python" -I -X utf8 -m pip --disable-pip-version-check --python "$(guest_python)" install -q --no-deps \
        --require-hashes --target "$2" -r "$1"
)
