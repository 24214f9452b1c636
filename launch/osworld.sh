#!/usr/bin/env bash
# Installs what scores and plays OSWorld's tasks:
#   ./launch/osworld.sh                       # desktop-env's scorers into .cache/osworld, and PyAutoGUI for computers
#   sudo ./launch/osworld.sh --applications   # the applications of its tasks that Debian has, too (2 GB)
#
# The scorers have an environment of their own, by launch/osworld.lock, with hashes: what getters and metrics of desktop-env
# import, without what its agents and its virtual machines ask for (PyTorch, EasyOCR, clouds).
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

applications=(libreoffice-calc libreoffice-impress libreoffice-writer libreoffice-gtk3 gimp vlc vlc-plugin-qt thunderbird
    gnome-terminal nautilus evince eog gedit vim gsettings-desktop-schemas dconf-cli dconf-gsettings-backend dbus dbus-bin
    gnome-settings-daemon-common gnome-shell-common sysstat pulseaudio pulseaudio-utils xdg-utils jq socat procps ffmpeg)
case ${1:-} in
--applications)
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        fail "osworld.sh --applications must run as root on a system with apt-get; or install: ${applications[*]}."
    fi
    ./launch/desktop.sh --browser
    step "installing the applications of OSWorld's tasks" apt_install "${applications[@]}" || fail "apt-get failed; $work/log says why."
    ;;
"") ;;
*) fail "osworld.sh takes --applications or nothing; got '$1'." ;;
esac

folder="$root/.cache/osworld"
install_scorers() (
    set -e
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$python" -I -X utf8 -m venv --clear --without-pip "$folder"
    "$python" -I -X utf8 -m pip --disable-pip-version-check --python "$folder/bin/python" install -q --no-deps \
        --require-hashes -r "$root/launch/osworld.lock"
    "$folder/bin/python" -I -X utf8 -m compileall -q -j 0 "$folder/lib" || true
)

mkdir -p "$work" "$root/.cache"
made_by=$({ cat "$root/launch/osworld.lock"; "$python" -V; echo "$folder"; } | sha256sum)
[ "$(cat "$folder/made-by" 2>/dev/null)" = "$made_by" ] || {
    step "installing desktop-env's scorers" install_scorers || fail "The packages of launch/osworld.lock could not be installed; $work/log says why."
    printf '%s\n' "$made_by" >"$folder/made-by"
}
./launch/pyautogui.sh
