#!/usr/bin/env bash
# Fetches what the previews of computers draw better with, from npm, into .cache/previews (3 MB):
#   ./launch/previews.sh
#
# xterm.js, for the terminals of the sandbox service. Without it they are drawn by a small terminal of lines. Nothing is
# fetched while the service runs.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/machine.sh"

packages=(@xterm/xterm@6.0.0 @xterm/addon-fit@0.11.0)
[ $# = 0 ] || fail "previews.sh takes nothing; got '$1'."
command -v npm >/dev/null || fail "previews.sh must find npm on the PATH (apt-get install npm); got none."
adapt_environment
mkdir -p "$work" "$root/.cache/previews"
printf '{"private": true}\n' >"$root/.cache/previews/package.json"
step "fetching ${packages[*]}" npm install --prefix "$root/.cache/previews" --ignore-scripts --no-audit --no-fund \
    --save-exact "${packages[@]}" || fail "npm failed; $work/log says why."
