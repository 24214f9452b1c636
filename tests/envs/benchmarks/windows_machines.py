"""Machines for WindowsAgentArena's tasks: the guest of launch/windows_guest.py on Linux, whose path has stand-ins."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from tars_jax.agent.actions import Action
from tars_jax.environment import Task, Transition
from tars_jax.envs.benchmarks.windows_agent_arena.environment import WindowsAgentArenaEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.sandbox.address import SandboxAddress

ROOT = Path(__file__).parents[3]
TOKEN = "a token of more than 16 letters"
STAND_INS = ("calc", "cmd", "code", "explorer", "notepad", "powershell", "start", "taskkill", "vlc")
Prepared = Callable[[Any], Awaitable[None]]  # what is done through the machine's own routes


class WindowsGuest:
    """With a made-up screen of 320 x 200; its home stands for C:\\Users\\Docker."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        programs = folder / "programs"
        programs.mkdir()
        for name in STAND_INS:
            (programs / name).write_text("#!/bin/sh\nexit 0\n")
            (programs / name).chmod(0o755)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(ROOT / "tests/envs/guest_with_a_screen.py"),
             str(ROOT / "launch/windows_guest.py"), "--port", "0", "--home", str(self.home), "--episodes"],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TARS_GUEST_TOKEN": TOKEN, "PATH": f"{programs}:{os.environ['PATH']}"},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.name = self.process.stdout.readline().split()[-1]

    @property
    def resources(self) -> EnvironmentResources:
        return EnvironmentResources(sandbox=SandboxAddress(guests=(self.name,), key=TOKEN))

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def play_all(
    guest: WindowsGuest | None, tasks: Path, episodes: Sequence[tuple[str, Prepared | None, Sequence[Action]]],
    **options: Any,
) -> list[Transition | Exception]:  # fmt: skip
    """Each episode's last turn, or what it failed with: its task's name, what is done behind its steps, its actions."""
    given = {"tasks": str(tasks), "begun": 0.0, **options}

    async def played() -> list[Transition | Exception]:
        spec = load_environment("windows_agent_arena", given)
        environment = spec.make(guest.resources if guest else EnvironmentResources())
        assert isinstance(environment, WindowsAgentArenaEnvironment)
        found: list[Transition | Exception] = []
        try:
            for name, prepare, actions in episodes:
                try:
                    asked = Task("t", "windows_agent_arena", 0, {**given, "task": name}, 9)
                    await environment.reset(asked)
                    if prepare is not None:
                        await prepare(environment._held.guest)
                    for action in actions:
                        turn = await environment.step([action])
                    found.append(turn)
                except Exception as error:
                    found.append(error)
        finally:
            await environment.close()
        return found

    return asyncio.run(played())
