"""A computer as OSWorld's virtual machine is when a task begins: its bus and settings, keys, and first state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.osworld.programs import INSIDE
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.computer.machine import Machine
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder, with_pyautogui
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.desktop import Desktop, DesktopConfig

SIZE = (1920, 1080)  # of its screen, pixels: steps of tasks click in its middle
BUS = "unix:path=/run/user/1000/bus"
ENVIRONMENT = {
    "GSETTINGS_BACKEND": "dconf", "DBUS_SESSION_BUS_ADDRESS": BUS, "XDG_RUNTIME_DIR": "/run/user/1000",
    "XDG_CURRENT_DESKTOP": "GNOME", "LC_ALL": "C.UTF-8",
}  # fmt: skip
PATH = f"{INSIDE}:/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games:/opt/bin"
ROOM = ContainerSpec(memory_mib=4096, processes=1024, disk_mib=2048, shared_memory_mib=512)
PREPARE_S = 60.0
# $1 the folder of the desktop. Settings programs write themselves at their first start, and ask no question there.
PREPARE = r"""
mkdir -p "$HOME/Desktop" "$HOME/Documents" "$HOME/Downloads" "$HOME/Music" "$HOME/Pictures" "$HOME/Videos" \
    "$HOME/.config/vlc" "$HOME/.local/share/applications" "$HOME/.config/google-chrome/Default"
[ -e "$HOME/.config/vlc/vlcrc" ] || printf '[qt]\nqt-privacy-ask=0\n\n[core]\n' >"$HOME/.config/vlc/vlcrc"
if command -v dbus-daemon >/dev/null; then
    dbus-daemon --session --address="$DBUS_SESSION_BUS_ADDRESS" --fork --nopidfile || exit 3
fi
keys='<keybind key="C-A-t"><action name="Execute"><command>terminal</command></action></keybind>'
sed -i "s|<keyboard>|<keyboard>$keys|" "$1/rc.xml" && openbox --reconfigure
exit 0
"""
# What the machine's snapshot must have been like, as tasks ask for the contrary and say nothing of it themselves:
# words of a scorer, and the command that makes the task one.
SNAPSHOT: Mapping[str, str] = {
    "lock-enabled": "gsettings set org.gnome.desktop.screensaver lock-enabled false",
    "pactl list sinks": "pulseaudio --start; pactl set-sink-volume @DEFAULT_SINK@ 40%",
    "Default && jq": 'google-chrome --headless --dump-dom about:blank; mkdir -p "$HOME/.config/google-chrome/Default"; '
    'cd "$HOME/.config/google-chrome/Default" && [ -s Preferences ] || echo "{}" >Preferences',
}


def computer_spec(
    programs: Path, size: tuple[int, int], tools: tuple[str, ...] = (), record: Mapping[str, Any] | None = None
) -> ComputerSpec:
    """The computer of a task, with a shell where there are tools.

    Raises InputError where PyAutoGUI, which its steps or its scorer call, is not installed.
    """
    folder, room = pyautogui_folder(), ROOM
    if folder is not None:
        room = with_pyautogui(room, folder)
    elif "pyautogui" in str(record):
        raise InputError("osworld must have PyAutoGUI in its computers for this task; ./launch/osworld.sh installs it")
    room = dataclasses.replace(
        room,
        binds={**room.binds, INSIDE: programs},
        environment={**room.environment, **ENVIRONMENT, "PATH": PATH},
        hostname="user-virtual-machine",
    )
    desktop = DesktopConfig(size[0], size[1], environment=ENVIRONMENT)
    parts = ("shell", "desktop") if tools else ("desktop",)
    return ComputerSpec(parts=parts, tools=tools, container=room, desktop=desktop)


async def prepare(computer: EquippedComputer, record: Mapping[str, Any] | None = None) -> None:
    """Prepares what is there before a task's own steps, or before any task. Raises SandboxFailure,
    EnvironmentFailure."""
    machine, desktop = computer.computer.machine, computer.desktop
    assert desktop is not None
    await _run(machine, desktop, ["sh", "-c", PREPARE, "sh", desktop.folder])
    said = str(record.get("config")) + str(record["evaluator"]) if record else ""
    for words, command in SNAPSHOT.items():
        if words in said:
            await _run(machine, desktop, ["sh", "-c", command])


async def _run(machine: Machine, desktop: Desktop, argv: list[str]) -> None:
    log = f"{desktop.folder}/prepare.log"
    process = await machine.start(argv, env=desktop.env, output=log)
    status = await machine.wait(process, PREPARE_S)
    if status is None:
        await machine.kill(process)
    if status != 0:
        how = f"did not end within {PREPARE_S:g} s" if status is None else f"ended with {status}"
        said = desktop.inside.text(log).strip()[-300:]
        raise EnvironmentFailure("setup", f"a computer could not be made ready for OSWorld: a command {how}: {said}")
