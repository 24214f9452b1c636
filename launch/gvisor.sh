#!/usr/bin/env bash
# Fetches gVisor's runsc for computers with isolation=gvisor, into .cache/gvisor (one package, 7 MB), and tries it:
#   sudo ./launch/gvisor.sh
#
# That of Debian 13, on other systems, too: Debian 12's (of 2022) knows neither systrap nor forks of what runs. It is one
# program without libraries. The package is checked by apt against Debian's keys and unpacked beside the system's, which it
# does not touch. TARS_JAX_RUNSC=PATH names another one. Nothing but isolation=gvisor uses it.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/machine.sh"
folder="$root/.cache/gvisor"

fetch() (
    set -e
    umask 022
    rm -rf "$folder.partial" && mkdir -p "$folder.partial"
    apt="$folder.partial/apt"
    debian_packages trixie "$apt" runsc
    dpkg-deb --fsys-tarfile "$apt"/archives/runsc_*.deb | tar -x -O ./usr/bin/runsc >"$folder.partial/runsc"
    rm -rf "$apt"
    chmod +x "$folder.partial/runsc"
    rm -rf "$folder" && mv "$folder.partial" "$folder"
)

mkdir -p "$work"
if ! [ -x "$folder/runsc" ]; then
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] && command -v apt-get dpkg-deb >/dev/null ||
        fail "gvisor.sh must run on a system with apt-get and the package debian-archive-keyring; or set TARS_JAX_RUNSC to the path of a runsc of 2024 or later."
    step "fetching runsc from Debian" fetch || fail "apt-get failed; $work/log says why."
fi
version=$("$folder/runsc" --version)
printf '%s\n' "${version%%$'\n'*}"
if [ "$(id -u)" != 0 ]; then
    printf 'gvisor: only root can use it\n'
fi
