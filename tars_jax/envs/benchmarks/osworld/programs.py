"""Programs of OSWorld's virtual machine that have other names here: a folder, first in the PATH of its computers."""

from __future__ import annotations

import shutil
from pathlib import Path

from tars_jax.sandbox.desktop.applications import CHROMIUM

INSIDE = "/opt/osworld"  # where a computer finds the folder
BROWSERS = ("google-chrome-stable", "chromium", "chromium-browser")
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
    scripts = {"sudo": SUDO, "terminal": TERMINAL}
    if shutil.which("gnome-terminal") is None:
        scripts["gnome-terminal"] = TERMINAL
    if browser := next(filter(None, map(shutil.which, BROWSERS)), None):
        scripts["google-chrome"] = _chrome(browser)
        scripts |= {name: _named(shutil.which(name)) for name in ("pkill", "pgrep", "killall") if shutil.which(name)}
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    folder.chmod(0o755)


def _chrome(browser: str) -> str:
    """Its profile lies where OSWorld's scorers look for it."""
    return f'#!/bin/sh\nexec {browser} {" ".join(CHROMIUM)} --user-data-dir="$HOME/.config/google-chrome" "$@"\n'


def _named(program: str | None) -> str:
    """Tasks end Chrome by the name chrome, also where it is called chromium."""
    return f"""#!/bin/sh
for word; do
    shift
    case $word in chrome) word='chrom(e|ium)' ;; esac
    set -- "$@" "$word"
done
exec {program} {"-r " if str(program).endswith("killall") else ""}"$@"
"""
