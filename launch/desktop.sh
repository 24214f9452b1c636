#!/usr/bin/env bash
# Installs what the desktops of computers need, from Debian's or Ubuntu's packages:
#   sudo ./launch/desktop.sh [--office|--browser]
#
# An X server, a window manager, a terminal, an editor, a file manager, a calculator and fonts (250 MB); with --office
# LibreOffice and GIMP, too (1 GB); with --browser Chromium (350 MB). Needs root. Without it, says which programs are missing.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/machine.sh"

packages=(xvfb x11-xkb-utils xkb-data openbox xterm mousepad pcmanfm galculator scrot python3-tk
    fonts-dejavu-core fonts-noto-color-emoji fonts-droid-fallback adwaita-icon-theme)
programs=(Xvfb openbox xterm mousepad pcmanfm galculator)
case ${1:-} in
--office)
    packages+=(libreoffice-writer libreoffice-calc libreoffice-impress libreoffice-gtk3 gimp)
    programs+=(libreoffice gimp)
    ;;
--browser)
    packages+=(chromium)
    programs+=(chromium)
    ;;
"") ;;
*) fail "desktop.sh takes --office, --browser or nothing; got '$1'." ;;
esac

missing=()
for program in "${programs[@]}"; do
    command -v "$program" >/dev/null || missing+=("$program")
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    [ ${#missing[@]} = 0 ] && printf 'desktop: everything is installed\n' && exit
    fail "desktop.sh must run as root on a system with apt-get to install ${missing[*]}; or install: ${packages[*]}."
fi
mkdir -p "$work"
step "installing the desktop's packages" apt_install "${packages[@]}" || fail "apt-get failed; $work/log says why."
