#!/usr/bin/env bash
# Installs the clients of others whose APIs computers and desktops speak, for tests/sandbox/compat and desktop:
#   ./launch/interop.sh
#
# agent-sandbox, swe-rex, openenv, desktop-env, PyAutoGUI and vncdotool by launch/interop.lock, without what else they ask for:
# their servers, cloud SDKs and web pages (gradio, fastmcp, volcengine), gigabytes that a client never imports. Nothing of
# requirements.lock moves.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

step "installing the clients of others" locked_pip --no-deps -r "$root/launch/interop.lock" ||
    fail "The packages of launch/interop.lock could not be installed; $work/log says why."
