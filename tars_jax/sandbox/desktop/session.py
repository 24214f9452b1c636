"""Programs that start with a desktop besides its X server: the window manager, and the applications that are there."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence

from tars_jax import InputError
from tars_jax.sandbox.computer.machine import Machine
from tars_jax.sandbox.desktop.applications import APPLICATIONS, INSTALL, menu
from tars_jax.sandbox.desktop.files import Inside
from tars_jax.sandbox.desktop.server import NOT_FOUND
from tars_jax.sandbox.failures import SandboxFailure

START_S, POLL_S = 30.0, 0.005
# Programs keep their settings in memory and ask no service of a session that a desktop does not have.
ENVIRONMENT = {
    "GSETTINGS_BACKEND": "memory", "GTK_USE_PORTAL": "0", "NO_AT_BRIDGE": "1", "GTK_IM_MODULE": "gtk-im-context-simple",
    "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "QT_QPA_PLATFORM": "xcb", "XDG_CURRENT_DESKTOP": "Openbox",
}  # fmt: skip
# A menu closes when the button is let go this long after it opened, which a busy machine takes to open one.
START_WINDOW_MANAGER = r"""
command -v openbox >/dev/null || exit 127
printf %s "$1" >"$DESKTOP_FOLDER/menu.xml"
menu=$(printf %s "$DESKTOP_FOLDER/menu.xml" | sed 's/[&|\\]/\\&/g')
sed -e 's|<hideDelay>[0-9]*</hideDelay>|<hideDelay>5000</hideDelay>|; /debian-menu/d' \
    -e "s|<file>menu.xml</file>|<file>$menu</file>|" \
    /etc/xdg/openbox/rc.xml >"$DESKTOP_FOLDER/rc.xml" || exit 1
exec openbox --config-file "$DESKTOP_FOLDER/rc.xml" --startup "sh -c 'touch \"\$DESKTOP_FOLDER/ready\"'"
"""
SHELL_FIND = 'for name in "$@"; do command -v "$name" >/dev/null 2>&1 && printf "%s\\n" "$name"; done; true'


async def find_applications(machine: Machine, inside: Inside, folder: str) -> dict[str, Sequence[str]]:
    """Finds those of APPLICATIONS that are installed: name -> command. Raises SandboxFailure."""
    programs = {command[0] for options in APPLICATIONS.values() for command in options}
    log = f"{folder}/output-{secrets.token_hex(4)}"
    process = await machine.start(["sh", "-c", SHELL_FIND, "sh", *sorted(programs)], output=log)
    if await machine.wait(process, START_S) is None:
        await machine.kill(process)
        raise SandboxFailure("desktop", f"a shell did not end within {START_S:g} s")
    there = inside.text(log).split()
    found: dict[str, Sequence[str]] = {}
    for name, options in APPLICATIONS.items():
        if installed := [command for command in options if command[0] in there]:
            found[name] = installed[0]
    return found


async def start_window_manager(
    machine: Machine, inside: Inside, folder: str, env: Mapping[str, str], applications: Mapping[str, Sequence[str]]
) -> int:
    """Starts the window manager and returns its process inside. Raises InputError where it is not installed,
    SandboxFailure for one that does not come up."""
    script = ["sh", "-c", START_WINDOW_MANAGER, "sh", menu(applications)]
    process = await machine.start(script, env={**env, "DESKTOP_FOLDER": folder})
    end = asyncio.get_running_loop().time() + START_S
    # It says so itself: its properties are there before it takes a click.
    while not _exists(inside, f"{folder}/ready"):
        status = await machine.wait(process, POLL_S)
        if status == NOT_FOUND:
            raise InputError(f"desktop must have a window manager, and openbox is not installed; {INSTALL}")
        if status is not None or asyncio.get_running_loop().time() > end:
            await machine.kill(process)
            raise SandboxFailure("desktop", f"the window manager did not come up; status {status}")
    return process


def _exists(inside: Inside, path: str) -> bool:
    try:
        os.close(inside.open(path))
    except OSError:
        return False
    return True
