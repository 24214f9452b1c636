#!/usr/bin/env bash
# Fetches the CRIU that forks live sessions, into .cache/criu (25 packages, 9 MB), and tries it:
#   sudo ./launch/criu.sh
#
# CRIU 4.2.1 of Debian's testing: those of Debian 12 (3.17) and 13 (4.1.1) fail on newer kernels. The packages are checked by
# apt against Debian's keys and unpacked beside the system's, which they do not touch; CRIU runs by the C library that came
# with it. TARS_JAX_CRIU=PATH names another one. Where it does not run, computers fork by replay, and nothing else changes.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/machine.sh"
folder="$root/.cache/criu"

fetch() (
    set -e
    umask 022
    rm -rf "$folder.partial" && mkdir -p "$folder.partial/root"
    apt="$folder.partial/apt"
    debian_packages forky "$apt" criu
    for package in "$apt"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder.partial/root" --no-same-owner --exclude=./usr/share
    done
    rm -rf "$apt"
    cat >"$folder.partial/criu" <<'WRAPPER'
#!/bin/sh
# CRIU by the loader and the libraries that it was fetched with (launch/criu.sh).
here=$(dirname "$(readlink -f "$0")")/root
set -- "$here"/usr/sbin/criu "$@"
libraries=$(echo "$here"/usr/lib/*-linux-gnu*)
exec "$(echo "$libraries"/ld-linux*.so.*)" --library-path "$libraries" "$@"
WRAPPER
    chmod +x "$folder.partial/criu"
    rm -rf "$folder" && mv "$folder.partial" "$folder"
)

mkdir -p "$work"
if ! [ -x "$folder/criu" ]; then
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] && command -v apt-get dpkg-deb >/dev/null ||
        fail "criu.sh must run on a system with apt-get and the package debian-archive-keyring; or set TARS_JAX_CRIU to the path of a CRIU of 4.2 or later."
    step "fetching CRIU from Debian" fetch || fail "apt-get failed; $work/log says why."
fi
version=$("$folder/criu" --version)
printf '%s\n' "${version%%$'\n'*}"
if [ "$(id -u)" != 0 ]; then
    printf 'criu: only root can use it\n'
elif ! "$folder/criu" check >>"$work/log" 2>&1; then
    fail "This machine's kernel lacks what CRIU needs; $work/log says what. Computers fork by replay here."
fi
