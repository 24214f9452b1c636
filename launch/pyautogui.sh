#!/usr/bin/env bash
# Installs PyAutoGUI for the desktops that OSWorld's controllers drive, into .cache/pyautogui:
#   ./launch/pyautogui.sh
#
# By launch/pyautogui.lock, for the Python that runs programs in computers. `./launch/local.sh osworld` and the service show it to desktops.
# PyAutoGUI also needs python3-tk and scrot, which ./launch/desktop.sh installs.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/guest_packages.sh"

folder="$root/.cache/pyautogui"
made_by=$({ cat "$root/launch/pyautogui.lock"; guest_python; } | sha256sum)
install_pyautogui() (
    set -e
    rm -rf "$folder" "$folder.partial" && mkdir -p "$folder.partial"
    guest_packages "$root/launch/pyautogui.lock" "$folder.partial/packages"
    printf '%s\n' "$made_by" >"$folder.partial/made-by"
    mv "$folder.partial" "$folder"
)

mkdir -p "$work"
[ "$(cat "$folder/made-by" 2>/dev/null)" = "$made_by" ] || step "installing PyAutoGUI for computers" install_pyautogui ||
    fail "PyAutoGUI could not be installed; $work/log says why."
