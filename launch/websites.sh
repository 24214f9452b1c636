#!/usr/bin/env bash
# Installs web applications of others, for tasks over real sites, into .cache/websites/NAME:
#   ./launch/websites.sh fossil trac      # some of them
#   ./launch/websites.sh --all            # all; --list says which there are
#
# PyPI's by launch/websites/NAME.lock and npm's by launch/websites/NAME/package-lock.json, all with hashes; Debian's
# packages are checked by apt against Debian's keys. None needs root, and nothing of requirements.lock or of the system moves.
# TARS_JAX_WEBSITES=FOLDER puts them, and looks for them, elsewhere.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/guest_packages.sh"

locks="$root/launch/websites"
folder=$(realpath -m "${TARS_JAX_WEBSITES:-$root/.cache/websites}")
declare -A debian=([fossil]="bookworm fossil" [foldoc]="bookworm dict-foldoc")
mapfile -t known < <({ printf '%s\n' "${!debian[@]}"; ls "$locks"; } | sed 's/\.lock$//' | sort)

from_npm() (
    set -e
    mkdir -p "$2" && cp "$locks/$1/"package*.json "$2/"
    npm ci --prefix "$2" --ignore-scripts --omit=dev --no-audit --no-fund
)

# from_debian SUITE PACKAGE FOLDER: the package and its libraries, beside those of the system
from_debian() (
    set -e
    umask 022
    debian_packages "$1" "$3/apt" "$2"
    for package in "$3"/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$3" --no-same-owner --exclude=./usr/share/doc --exclude=./usr/share/man
    done
    dpkg-deb -f "$3/apt/archives/$2"_*.deb Version >"$3/version"
    rm -rf "$3/apt"
    cat >"$3/run" <<'WRAPPER'
#!/bin/sh
# run PROGRAM ARGUMENTS: by the loader and the libraries that it was fetched with
here=$(dirname "$(readlink -f "$0")")
program=$1
shift
libraries=$(echo "$here"/lib/*-linux-gnu "$here"/usr/lib/*-linux-gnu | tr ' ' :)
exec "$(echo "$here"/lib/*-linux-gnu/ld-linux*.so.*)" --library-path "$libraries" "$here/$program" "$@"
WRAPPER
    chmod +x "$3/run"
)

install_site() (
    set -e
    rm -rf "$folder/$1.partial" && mkdir -p "$folder/$1.partial"
    if [ -n "${debian[$1]:-}" ]; then
        from_debian ${debian[$1]} "$folder/$1.partial"
    elif [ -d "$locks/$1" ]; then
        from_npm "$1" "$folder/$1.partial"
    else
        guest_packages "$locks/$1.lock" "$folder/$1.partial"
    fi
    rm -rf "${folder:?}/$1" && mv "$folder/$1.partial" "$folder/$1"
    stamp_of "$1" >"$folder/$1/.stamp"
)

# What it was installed by: an edited lock, or another Python, installs it anew.
stamp_of() {
    { [ -z "${debian[$1]:-}" ] || printf '%s\n' "${debian[$1]}"; cat "$locks/$1.lock" "$locks/$1/package-lock.json" 2>/dev/null || true; guest_python; } |
        sha256sum | cut -d' ' -f1
}

case ${1:-} in
--list) printf '%s\n' "${known[@]}"; exit ;;
--all) sites=("${known[@]}") ;;
"" | -*) fail "websites.sh must be given sites, --all or --list; there are ${known[*]}." ;;
*) sites=("$@") ;;
esac
for site in "${sites[@]}"; do
    printf '%s\n' "${known[@]}" | grep -qx -- "$site" || fail "a site must be one of ${known[*]}; got '$site'."
done
mkdir -p "$work" "$folder"
for site in "${sites[@]}"; do
    if [ -d "$locks/$site" ] && ! command -v npm >/dev/null; then
        fail "websites.sh must find npm on the PATH for $site (apt-get install npm); got none."
    fi
    if [ -n "${debian[$site]:-}" ] && ! { [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] && command -v apt-get dpkg-deb >/dev/null; }; then
        fail "websites.sh must run on a system with apt-get and debian-archive-keyring for $site; got none."
    fi
    [ "$(cat "$folder/$site/.stamp" 2>/dev/null)" = "$(stamp_of "$site")" ] || step "installing the site $site" install_site "$site" ||
        fail "$site could not be installed; $work/log says why."
done
