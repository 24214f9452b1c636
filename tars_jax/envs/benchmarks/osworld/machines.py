"""Machines that tasks in OSWorld's form are played on, and those of them that are elsewhere.

Each answers the guest protocol's routes (`guest`), shows a screen and takes what a hand does. One episode has one at a
time.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import io
import re
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

import httpx
import numpy as np
from PIL import Image, UnidentifiedImageError

from tars_jax import InputError
from tars_jax.agent.actions import Action, ToolCall, Wait
from tars_jax.agent.pyautogui_lines import pyautogui_line
from tars_jax.environment import EnvironmentFailure, Observation
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.sandbox.computer.equipped.interface import ActsOnComputer
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone.phone_lock import lock_phone
from tars_jax.web.client import failing_as, http_client

PATIENCE_S = 6000.0  # for a machine that is free: as long as some episodes of others
AWAY_S = 60.0  # for one of them all to answer
ANSWERS_S = 300.0  # for one that was set back and starts
PROBE_S = 15.0
LOOK_S = 1.0
SETTLE_S = 1.0  # of a screen behind an action of PyAutoGUI's
PREFIX = "import pyautogui; import time; pyautogui.FAILSAFE = False; "
ADDRESS = re.compile(r"http://([^@/\s]+@)?[^@/:\s]+:[0-9]{1,5}/?")
_failed: dict[str, float] = {}  # when a machine was last found away: it is asked behind the others


class OSWorldMachine(Protocol):
    guest: GuestProtocol

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) of its screen in pixels; zeros: it has none."""
        ...

    async def act(self, action: Action) -> str:
        """Carries out one action; what is to be said of it. Raises EnvironmentFailure, SandboxFailure, Broken."""
        ...

    async def shown(self) -> Observation: ...

    def scored_at(self) -> contextlib.AbstractAsyncContextManager[tuple[str, Mapping[str, int]]]:
        """The host where the scorer finds the routes while the block runs, and its ports: server, chrome, vlc."""
        ...

    async def close(self) -> None: ...


@dataclasses.dataclass(eq=False)
class ScreenMachine:
    """A machine with a screen, input devices and functions."""

    computer: ActsOnComputer
    guest: GuestProtocol
    screen: DesktopScreen | None

    @property
    def size(self) -> tuple[int, int]:
        return self.screen.size if self.screen else (0, 0)

    async def act(self, action: Action) -> str:
        if isinstance(action, ToolCall):
            return (await self.computer.call(action.name, action.parameters)).text or "(no output)"
        return f"{action.name}: there is no screen" if self.screen is None else await self.screen.act(action)

    async def shown(self) -> Observation:
        if self.screen is None:
            return Observation()
        png, pixels, _ = await self.screen.shown()
        return Observation.decoded(png, pixels)

    async def close(self) -> None:
        await self.guest.close()
        await self.computer.close()


@dataclasses.dataclass(eq=False)
class ServerMachine:
    """A machine with a server of the guest protocol, whose mouse and keyboard are PyAutoGUI's there."""

    address: str  # http://HOST:PORT, perhaps with any:TOKEN@ before the host
    guest: GuestProtocol
    lock: TextIO
    size: tuple[int, int]

    @classmethod
    async def open(cls, address: str, lock: TextIO) -> ServerMachine:
        """Raises SandboxFailure where it is away, EnvironmentFailure for a screen that is none, InputError for a token
        that is not its."""
        client = http_client(address, PROBE_S, from_environment=False, base_url=address)
        try:
            with failing_as(lambda why: SandboxFailure("guest", f"it did not answer: {why}")):
                answer = await client.get("/screenshot")
            if answer.status_code in (401, 403):
                raise InputError(f"servers must have each one's token, http://any:TOKEN@...; {without_token(address)} "
                                 "has another")  # fmt: skip
            if answer.is_error:
                raise SandboxFailure("guest", f"it answered {answer.status_code}")
            height, width, _ = _pixels(address, answer).shape
            return cls(address, GuestProtocol(client), lock, (width, height))
        except BaseException:
            await client.aclose()
            raise

    async def act(self, action: Action) -> str:
        if isinstance(action, Wait):
            await asyncio.sleep(action.seconds)
            return ""
        line = pyautogui_line(action, *self.size)
        if not line.startswith("pyautogui."):
            return f"{action.name}: a computer has no such action"
        answer = await self.guest.execute(["python", "-c", PREFIX + line])
        await asyncio.sleep(SETTLE_S)
        if answer.status_code != 200 or answer.json().get("returncode"):
            words = f"{without_token(self.address)} could not do {line[:80]}: {answer.text[:200]}"
            raise EnvironmentFailure("guest", words)
        return ""

    async def shown(self) -> Observation:
        pixels = _pixels(self.address, await self.guest.get("/screenshot"))
        self.size = (pixels.shape[1], pixels.shape[0])
        return Observation.from_pixels(pixels)

    @contextlib.asynccontextmanager
    async def scored_at(self) -> AsyncIterator[tuple[str, Mapping[str, int]]]:
        host, _, port = self.address.removeprefix("http://").rpartition(":")
        yield host, {"server": int(port)}

    async def close(self) -> None:
        await self.guest.close()
        self.lock.close()


def _pixels(address: str, answer: httpx.Response) -> np.ndarray[Any, np.dtype[np.uint8]]:
    try:
        with Image.open(io.BytesIO(answer.content)) as image:
            return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError) as error:
        raise EnvironmentFailure("screen", f"{without_token(address)} gave no picture: {error}") from error


@dataclasses.dataclass(frozen=True)
class Machines:
    """Machines of a run. Raises InputError for a `revert` that is no command."""

    names: tuple[str, ...]
    open: Callable[[str, TextIO], Awaitable[OSWorldMachine]]  # closes the file with the machine; raises SandboxFailure
    revert: tuple[str, ...]  # a command of this machine that sets one back; {machine}, {snapshot} are filled in

    def __post_init__(self) -> None:
        if not all(isinstance(word, str) for word in self.revert):
            raise InputError(f"revert must be the words of a command; got {self.revert!r:.100}")

    async def take(self, snapshot: str) -> OSWorldMachine:
        """Takes a machine that nobody plays on, set back. Raises EnvironmentFailure("held"), and why none can be
        had."""
        began = time.monotonic()
        while True:
            held, said = False, list[str]()
            for name in sorted(self.names, key=lambda each: _failed.get(each, 0.0)):
                try:
                    return await self._opened(name, snapshot)
                except SandboxFailure as failure:
                    held = held or failure.kind == "held"
                    if failure.kind != "held":
                        _failed[name] = time.monotonic()
                    kind, words = failure.kind, f"{without_token(name)}: {failure}"
                    said.append(words)
            patience = PATIENCE_S if held else AWAY_S
            if time.monotonic() - began > patience:
                words = f"no machine could be had for {patience:g} s: {'; '.join(said)}"
                raise EnvironmentFailure("held" if held else kind, words)
            await asyncio.sleep(LOOK_S)

    async def _opened(self, name: str, snapshot: str) -> OSWorldMachine:
        lock = lock_phone(f"machine-{without_token(name)}")
        if lock is None:
            raise SandboxFailure("held", "another episode of this machine has it")
        try:
            await self._set_back(without_token(name), snapshot)
            end = time.monotonic() + (ANSWERS_S if self.revert else 0.0)
            while True:
                try:
                    return await self.open(name, lock)
                except SandboxFailure as failure:
                    if failure.kind == "held" or time.monotonic() > end:
                        raise
                await asyncio.sleep(LOOK_S)
        except BaseException:
            lock.close()
            raise

    async def _set_back(self, name: str, snapshot: str) -> None:
        if not self.revert:
            return
        argv = [word.replace("{machine}", name).replace("{snapshot}", snapshot) for word in self.revert]
        try:
            process = await asyncio.create_subprocess_exec(*argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT)
        except OSError as error:
            raise EnvironmentFailure("setup", f"revert must be a command that can be started: {error}") from error
        try:
            said, _ = await asyncio.wait_for(process.communicate(), ANSWERS_S)
        except TimeoutError:
            process.kill()
            raise EnvironmentFailure("setup", f"revert had not ended after {ANSWERS_S:g} s: {argv}") from None
        if process.returncode:
            words = said.decode("utf-8", "replace").strip()[-200:]
            raise EnvironmentFailure("setup", f"revert ended with {process.returncode}: {words}")


def check_servers(servers: Sequence[Any]) -> tuple[str, ...]:
    """A list of addresses, or the path of a file with one a line. Raises InputError for what is no address."""
    given = servers
    if isinstance(servers, str):
        try:
            given = Path(servers).expanduser().read_text("utf-8").split()
        except (OSError, ValueError):
            raise InputError(f"servers must be a list, or a file; got {without_token(servers)!r:.100}") from None
    for each in given:
        if not isinstance(each, str) or not ADDRESS.fullmatch(each):
            got = without_token(str(each))
            raise InputError(f"servers must be addresses such as http://10.0.0.7:5000; got {got!r:.100}")
    return tuple(each.rstrip("/") for each in given)


def without_token(address: str) -> str:
    """The address without its token, which nobody may read."""
    return re.sub(r"^(\w+://)?.*@", r"\1", address)
