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
    apt="$folder.partial/apt"
    rm -rf "$folder.partial" && mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s trixie main\n' \
        "${TARS_JAX_DEBIAN:-http://deb.debian.org/debian}" >"$apt/sources.list"
    settings=(-q -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt"
        -o "Dir::Cache::archives=$apt/archives" -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
        -o Dir::Etc::preferencesparts=- -o Dir::Etc::preferences=- -o Acquire::Languages=none
        -o "APT::Sandbox::User=root" -o APT::Architecture="$(dpkg --print-architecture)")
    apt-get "${settings[@]}" update
    DEBIAN_FRONTEND=noninteractive apt-get "${settings[@]}" -y --no-install-recommends --download-only install runsc
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
"$folder/runsc" --version | head -n 1
if [ "$(id -u)" != 0 ]; then
    printf 'gvisor: only root can use it\n'
fi
