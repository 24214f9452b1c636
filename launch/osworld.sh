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
. "$root/launch/own_environment.sh"

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

own_environment "$python" "$root/.cache/osworld" "$root/launch/osworld.lock" "installing desktop-env's scorers"
./launch/pyautogui.sh
