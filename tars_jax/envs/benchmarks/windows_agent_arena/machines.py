"""The machines that WindowsAgentArena's tasks are played on: its own server's, or bare guests.

Each answers that server's routes (`guest`), shows a screen and takes what a hand does. One episode has one at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import io
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, TextIO

import httpx
import numpy as np
from PIL import Image, UnidentifiedImageError

from tars_jax import InputError
from tars_jax.agent.actions import Action, ToolCall, Wait
from tars_jax.agent.pyautogui_lines import pyautogui_line
from tars_jax.environment import EnvironmentFailure, Observation
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol
from tars_jax.envs.benchmarks.windows_agent_arena.guest_app import WINDOWS, guest_app
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.sandbox.address import SandboxAddress, host_and_port
from tars_jax.sandbox.compat.serving import Served
from tars_jax.sandbox.computer.bare import BareComputer, GuestLease
from tars_jax.sandbox.computer.parts import ComputerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone.holding import hold
from tars_jax.web.running import address, listen, serving_here

PATIENCE_S = 6000.0  # for a machine that is free: as long as some episodes of others
ANSWERS_S = 300.0  # for one that was set back and starts
LOOK_S = 1.0
SETTLE_S = 1.0  # of a screen behind an action, on WindowsAgentArena's own server
PREFIX = "import pyautogui; import time; pyautogui.FAILSAFE = False; "


class Machine(Protocol):
    guest: GuestProtocol
    system: str  # as Python calls it: win32, linux
    own_server: bool

    async def act(self, action: Action) -> str:
        """Carries out one action; what is to be said of it. Raises EnvironmentFailure, SandboxFailure."""
        ...

    async def shown(self) -> Observation: ...

    def scored_at(self) -> contextlib.AbstractAsyncContextManager[tuple[str, int]]:
        """Host and port where the scorer finds the routes, while the block runs."""
        ...

    async def close(self) -> None: ...


@dataclasses.dataclass(eq=False)
class OwnServer:
    """A machine with WindowsAgentArena's own server, whose mouse and keyboard are PyAutoGUI's there."""

    address: str  # http://HOST:PORT
    guest: GuestProtocol
    lock: TextIO
    system: str = WINDOWS
    own_server: bool = True
    size: tuple[int, int] = (0, 0)

    @classmethod
    async def open(cls, address: str, lock: TextIO) -> OwnServer:
        """Waits until it answers. Raises EnvironmentFailure."""
        client = httpx.AsyncClient(base_url=address, trust_env=False)
        end = time.monotonic() + ANSWERS_S
        while True:
            try:
                if (await client.get("/probe", timeout=10.0)).status_code == 200:
                    return cls(address, GuestProtocol(client), lock)
                said = "another status than 200"
            except httpx.HTTPError as error:
                said = str(error) or type(error).__name__
            if time.monotonic() > end:
                await client.aclose()
                raise EnvironmentFailure("guest", f"{address} did not answer /probe within {ANSWERS_S:g} s: {said}")
            await asyncio.sleep(LOOK_S)

    async def act(self, action: Action) -> str:
        if isinstance(action, Wait):
            await asyncio.sleep(action.seconds)
            return ""
        if not self.size[0]:
            await self.shown()
        line = pyautogui_line(action, *self.size)
        if not line.startswith("pyautogui."):
            return f"{action.name}: a computer has no such action"
        answer = await self.guest.execute(["python", "-c", PREFIX + line])
        await asyncio.sleep(SETTLE_S)
        if answer.status_code != 200 or answer.json().get("returncode"):
            raise EnvironmentFailure("guest", f"{self.address} could not do {line[:80]}: {answer.text[:200]}")
        return ""

    async def shown(self) -> Observation:
        try:
            answer = await self.guest.get("/screenshot")
            with Image.open(io.BytesIO(answer.content)) as image:
                pixels = np.asarray(image.convert("RGB"))
        except (UnidentifiedImageError, OSError, ValueError) as error:
            raise EnvironmentFailure("screen", f"{self.address} gave no picture: {error}") from error
        self.size = (pixels.shape[1], pixels.shape[0])
        return Observation.from_pixels(pixels)

    @contextlib.asynccontextmanager
    async def scored_at(self) -> AsyncIterator[tuple[str, int]]:
        host, _, port = self.address.partition("://")[2].partition("/")[0].rpartition(":")
        yield host, int(port)

    async def close(self) -> None:
        await self.guest.close()
        self.lock.close()


@dataclasses.dataclass(eq=False)
class BareGuest:
    """One of launch/windows_guest.py, by its own screen and hands."""

    computer: BareComputer
    guest: GuestProtocol
    system: str
    screen: DesktopScreen | None
    own_server: bool = False

    @classmethod
    async def open(cls, name: str, token: str, tools: tuple[str, ...], *, screen: bool) -> BareGuest:
        """Raises SandboxFailure: "held" where another has it; InputError for a guest of another version or token."""
        lease = await GuestLease.take(*host_and_port(name), token)
        try:
            await lease.remote.client.call("reset")
            hello, _ = await lease.remote.client.call("hello")
        except BaseException:
            await lease.close()
            raise
        parts = (*(("shell",) if tools else ()), *(("desktop",) if screen else ()))
        computer = await BareComputer.open(lease, ComputerSpec(parts, tools))  # which closes the lease where it fails
        system = str(hello["system"])
        transport = httpx.ASGITransport(guest_app(lease.remote, system))
        guest = GuestProtocol(httpx.AsyncClient(transport=transport, base_url="http://guest"))
        return cls(computer, guest, system, DesktopScreen(computer.desktop) if computer.desktop else None)

    async def act(self, action: Action) -> str:
        if isinstance(action, ToolCall):
            return (await self.computer.call(action.name, action.parameters)).text or "(no output)"
        return f"{action.name}: there is no screen" if self.screen is None else await self.screen.act(action)

    async def shown(self) -> Observation:
        if self.screen is None:
            return Observation()
        png, pixels, _ = await self.screen.shown()
        return Observation.decoded(png, pixels)

    @contextlib.asynccontextmanager
    async def scored_at(self) -> AsyncIterator[tuple[str, int]]:
        listening = listen(Served())
        with listening:
            port = int(address(listening, None).rpartition(":")[2])
            app = guest_app(self.computer.lease.remote, self.system)
            async with serving_here(app, Served(stop_seconds=1), listening):
                yield "127.0.0.1", port

    async def close(self) -> None:
        await self.guest.close()
        await self.computer.close()


@dataclasses.dataclass(frozen=True)
class Machines:
    """Those of a run: servers of WindowsAgentArena's own, or the guests of `sandbox.guests`."""

    servers: tuple[str, ...]
    sandbox: SandboxAddress | None
    tools: tuple[str, ...]
    screen: bool
    revert: tuple[str, ...]  # a command of this machine that sets one back; {machine}, {snapshot} are filled in

    async def take(self, snapshot: str) -> OwnServer | BareGuest:
        """One that nobody plays on, set back. Raises EnvironmentFailure("held"), and why none can be had."""
        names = self.servers or (self.sandbox.guests if self.sandbox else ())
        end, last = time.monotonic() + PATIENCE_S, ""
        while True:
            for name in names:
                try:
                    return await self._opened(name, snapshot)
                except SandboxFailure as failure:
                    last = f"{name}: {failure}"
                    if failure.kind != "held":
                        raise EnvironmentFailure(failure.kind, last) from failure
            if time.monotonic() > end:
                raise EnvironmentFailure("held", f"no machine was free for {PATIENCE_S:g} s: {last}")
            await asyncio.sleep(LOOK_S)

    async def _opened(self, name: str, snapshot: str) -> OwnServer | BareGuest:
        lock = hold(f"windows-{name}")
        if lock is None:
            raise SandboxFailure("held", "another episode of this machine has it")
        try:
            await self._set_back(name, snapshot)
            if self.servers:
                return await OwnServer.open(name, lock)
            assert self.sandbox is not None
            guest = await _until_it_answers(name, self.sandbox.key, self.tools, self.screen, bool(self.revert))
        except BaseException:
            lock.close()
            raise
        lock.close()  # from now on its lease says whose it is
        return guest

    async def _set_back(self, name: str, snapshot: str) -> None:
        if not self.revert:
            return
        argv = [word.replace("{machine}", name).replace("{snapshot}", snapshot) for word in self.revert]
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
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


async def _until_it_answers(
    name: str, token: str, tools: tuple[str, ...], screen: bool, starts: bool
) -> BareGuest:  # fmt: skip
    end = time.monotonic() + ANSWERS_S
    while True:
        try:
            return await BareGuest.open(name, token, tools, screen=screen)
        except SandboxFailure as failure:
            if failure.kind == "held" or not starts or time.monotonic() > end:
                raise
        await asyncio.sleep(LOOK_S)


def check_servers(servers: Sequence[Any]) -> tuple[str, ...]:
    """Raises InputError for what is no address."""
    for each in servers:
        if not isinstance(each, str) or not each.startswith(("http://", "https://")) or each.count(":") != 2:
            raise InputError(f"servers must be addresses such as http://10.0.0.7:5000; got {each!r:.100}")
    return tuple(each.rstrip("/") for each in servers)
