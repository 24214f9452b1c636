"""Programs of OSWorld's virtual machine that have other names here: a folder, first in the PATH of its computers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tars_jax.sandbox.desktop.applications import CHROMIUM

INSIDE = "/opt/osworld"  # where a computer finds the folder
BROWSERS = ("/opt/google/chrome/chrome", "/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser")
# Chrome's profile lies where OSWorld's scorers look for it, and its processes are called chrome, as they end them.
CHROME = f"""#!/bin/sh
exec {INSIDE}/chrome {" ".join(CHROMIUM)} --user-data-dir="$HOME/.config/google-chrome" "$@"
"""
# Nobody is root in a computer, whose agent owns what tasks let sudo change: the home folder.
SUDO = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -u | -g | -h | -p | -C) shift 2 ;;
    -*) shift ;;
    *=*) export "$1" && shift ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || exit 1
exec "$@"
"""
TERMINAL = """#!/bin/sh
exec xterm -T Terminal -fa "DejaVu Sans Mono" -fs 14 -geometry 100x28+300+160 "$@"
"""


def fill(folder: Path) -> None:
    """Writes the programs into an empty folder that everybody may read."""
    scripts = {"sudo": SUDO, "google-chrome": CHROME, "google-chrome-stable": CHROME}
    if shutil.which("gnome-terminal") is None:
        scripts["gnome-terminal"] = TERMINAL
    for name, text in {**scripts, "terminal": TERMINAL}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    for browser in BROWSERS:
        if os.access(browser, os.X_OK):
            (folder / "chrome").symlink_to(browser)
            break
    folder.chmod(0o755)
