"""Serves one desktop by OSWorld's guest protocol until it is told to stop.

The token is made once for a run directory and kept in its file `token`, readable by its owner alone.
"""

from __future__ import annotations

import dataclasses
import logging
import tempfile
from pathlib import Path
from typing import Any

from tars_jax.envs.benchmarks.osworld import programs
from tars_jax.envs.benchmarks.osworld.session import computer_spec, prepare
from tars_jax.pipelines.command_fields import listen_address
from tars_jax.sandbox.compat.osworld import served_desktop
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.gate import Gate
from tars_jax.web.request_limits import is_loopback
from tars_jax.web.running import serve


def run(config: Any, run_directory: RunDirectory) -> None:
    logging.basicConfig(format="osworld: %(message)s")
    address = listen_address(config)
    token = read_or_make_key(run_directory.path / "token")
    if pyautogui_folder() is None:
        say("PyAutoGUI is not installed, so that screens, files and commands are there, and no actions: "
            "./launch/pyautogui.sh installs it")  # fmt: skip
    parts = ("shell", "desktop", "browser") if config.browser else ("shell", "desktop")
    gate = Gate(token, only_local_names=is_loopback(config.host))
    with tempfile.TemporaryDirectory(prefix="tars_jax-osworld-") as folder:
        programs.fill(Path(folder))
        spec = dataclasses.replace(computer_spec(Path(folder), (config.width, config.height)), parts=parts)
        app = served_desktop(spec, gate, config.isolation, prepare)
        serve(
            app,
            address,
            lambda address: announce(address, token),
            say,
            plain=True,
        )
    print("osworld: stopped", flush=True)


def announce(address: str, token: str) -> None:
    host, _, port = address.partition("//")[2].rpartition(":")
    print(
        f"osworld: ready at {address}; the token is {token}\n"
        f'  desktop_env.controllers.python.PythonController(vm_ip="any:{token}@{host}", server_port={port})\n'
        f"  evaluate --config.suite=osworld --config.environment_options='"
        f'{{"servers": ["http://any:{token}@{host}:{port}"]}}\'\n'
        f'  desktop_env.controllers.setup.SetupController(vm_ip="any:{token}@{host}", server_port={port})\n'
        "Ctrl-C ends it and the computer.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"osworld: {words}", flush=True)
