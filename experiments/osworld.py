"""Serves one desktop by OSWorld's guest protocol until it is told to stop.

The token is made once for a run directory and kept in its file `token`, readable by its owner alone.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from tars_jax.rules import at_least
from tars_jax.sandbox.compat.osworld import served_desktop
from tars_jax.sandbox.compat.serving import Gate, Served
from tars_jax.sandbox.computer.parts import ComputerSpec
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder, with_pyautogui
from tars_jax.sandbox.desktop import DesktopConfig
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.keys import read_or_make_key
from tars_jax.web.request_limits import is_loopback
from tars_jax.web.running import serve

RULES = {"width": at_least(320), "height": at_least(200)}


def run(config: Any, run_directory: RunDirectory) -> None:
    logging.basicConfig(format="osworld: %(message)s")
    token = read_or_make_key(run_directory.path / "token")
    parts = ("shell", "desktop", "browser") if config.browser else ("shell", "desktop")
    spec = ComputerSpec(parts=parts, desktop=DesktopConfig(width=config.width, height=config.height))
    gate = Gate(token, only_local_names=is_loopback(config.host))
    if folder := pyautogui_folder():
        spec = dataclasses.replace(spec, container=with_pyautogui(spec.room, folder))
    else:
        say("PyAutoGUI is not installed, so that screens, files and commands are there, and no actions: "
            "./launch/pyautogui.sh installs it")  # fmt: skip
    app = served_desktop(spec, gate, config.isolation)
    serve(app, Served(config.host, config.port), lambda address: announce(address, token), say, plain=True)
    print("osworld: stopped", flush=True)


def announce(address: str, token: str) -> None:
    host, _, port = address.partition("//")[2].rpartition(":")
    print(
        f"osworld: ready at {address}; the token is {token}\n"
        f'  desktop_env.controllers.python.PythonController(vm_ip="any:{token}@{host}", server_port={port})\n'
        f'  desktop_env.controllers.setup.SetupController(vm_ip="any:{token}@{host}", server_port={port})\n'
        "Ctrl-C ends it and the computer.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"osworld: {words}", flush=True)
