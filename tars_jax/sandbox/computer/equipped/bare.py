"""A bare guest with the interface of a computer of this process: what is judged is what the guest itself tells.

Nothing isolates it, and an agent could change what its guest says. Commands run in PowerShell where it is Windows, else
in bash; both behind pipes (../shell/line_shell.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Function
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.computer.equipped.interface import Outside
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.sandbox.computer.equipped.remote_guest import RemoteGuest
from tars_jax.sandbox.computer.followed_program import FollowedProgram
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.home import MOST_BYTES, MOST_FILES, File, Given, put
from tars_jax.sandbox.computer.processes import Process
from tars_jax.sandbox.computer.walking import DEEPEST, Sought, Unreadable
from tars_jax.sandbox.desktop import Screenshot, Settle, WindowInfo
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell.line_shell import LineShell
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.forms import Toolbox, ToolResult

VERSION = 2  # of launch/windows_guest.py: since then guests are leased and reset, and tell what runs
LEASE_S = 60.0  # a learner that has died holds a guest no longer
PARTS = ("shell", "desktop")


async def _greeted(remote: RemoteGuest, name: str) -> None:
    """Raises InputError for a guest of another token or version, SandboxFailure."""
    try:
        await remote.__aenter__()
    except GuestError as error:
        raise InputError(f"sandbox.key_file must be a file with the token of {name}; {error}") from error
    hello, _ = await remote.client.call("hello")
    if hello.get("version") != VERSION:
        raise InputError(
            f"sandbox.guests must be guests of version {VERSION}, as launch/windows_guest.py is; {name} is of "
            f"version {hello.get('version')}"
        )


@dataclasses.dataclass(eq=False)
class LeasedGuest:
    """Lease of a guest: until `close`, the guest is nobody else's, and its home folder is empty as it begins."""

    remote: RemoteGuest
    name: str  # HOST:PORT
    word: str
    _renewing: asyncio.Task[None] | None = None

    @classmethod
    async def take(cls, host: str, port: int, token: str) -> LeasedGuest:
        """Raises SandboxFailure: "held" where another has it; InputError for a guest of another version or token."""
        name, word = f"{host}:{port}", secrets.token_hex(16)
        remote = RemoteGuest(host, port, token)
        try:
            await _greeted(remote, name)
            await remote.client.call("lease", word=word, seconds=LEASE_S)
        except BaseException:
            await remote.__aexit__()
            raise
        remote.client.lease = word
        lease = cls(remote, name, word)
        lease._renewing = asyncio.create_task(lease._renew())
        return lease

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with contextlib.suppress(SandboxFailure, InputError):  # the next call meets it, too
                await self.remote.client.call("lease", word=self.word, seconds=LEASE_S)

    async def close(self) -> None:
        """Ends the lease; a second call does nothing. A guest that does not answer is free when the lease is over."""
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
            with contextlib.suppress(SandboxFailure, InputError):
                await self.remote.client.call("release", word=self.word)
            await self.remote.__aexit__()


class BareComputer:
    """A bare guest as an `ActsOnComputer`."""

    page = None
    functions: tuple[Function, ...] = ()
    left_out: tuple[str, ...] = ()

    def __init__(self, lease: LeasedGuest, toolbox: Toolbox, desktop: BareDesktop | None) -> None:
        self.lease, self.toolbox, self.desktop = lease, toolbox, desktop
        self._machine, self._files = lease.remote.machine, Files(lease.remote.machine)

    @classmethod
    async def open(cls, lease: LeasedGuest, spec: ComputerSpec) -> BareComputer:
        """Takes the lease over. Raises InputError for parts that a bare guest has not, SandboxFailure."""
        remote = lease.remote
        try:
            if unknown := [part for part in spec.parts if part not in PARTS]:
                raise InputError(f"parts must be of {', '.join(PARTS)} with sandbox.guests; got {unknown[0]!r}")
            hello, _ = await remote.client.call("hello")
            kind = "powershell" if hello["system"] == "win32" else "bash"
            kernel = await remote.kernel() if "JupyterCI" in spec.tools else None
            tools = spec.tools if "shell" in spec.parts else ()
            toolbox = Toolbox(remote.machine, tools, kernel=kernel, shell=lambda machine: LineShell(machine, kind))
            desktop = await BareDesktop.open(remote) if "desktop" in spec.parts else None
        except BaseException:
            await lease.close()
            raise
        return cls(lease, toolbox, desktop)

    async def put(self, files: Given, folders: Sequence[str] = ()) -> None:
        await put(self._machine, files, folders)

    async def start(self, argv: Sequence[str]) -> None:
        await self._machine.start(argv)

    async def start_servers(self) -> None:
        """Does nothing: there are no MCP servers."""

    def leave_out(self, name: str, why: str) -> None:
        """Does nothing: there is nothing to leave out."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return await self.toolbox.call(name, arguments)

    async def follow(self, program: str, *arguments: str, stdin: bytes = b"") -> FollowedProgram:
        return await FollowedProgram.start(self._machine, program, *arguments, stdin=stdin)

    async def outside(self, leaving_out: Collection[str] = (), seeking: Collection[Sought] = ()) -> Outside:
        """The state of its home alone: nothing is sought elsewhere, as a guest's own machine has no bounds."""
        files, folders = await self._home((*leaving_out, ".tars_jax"))
        seen, _ = await self.lease.remote.client.call("look")
        processes = tuple(Process(each["id"], each["program"], tuple(each["argv"])) for each in seen["processes"])
        windows = tuple((each["title"], each["process"]) for each in seen["windows"])
        return Outside(files, folders, processes, frozenset(seen["ports"]), windows)

    async def _home(self, leaving_out: Collection[str]) -> tuple[dict[str, File], frozenset[str]]:
        """Links are neither files nor folders."""
        home = self._machine.home
        try:
            entries, whole = await self._files.list(home, DEEPEST, MOST_FILES + 1)
            kept = [each for each in entries if each.path.partition("/")[0] not in leaving_out]
            size = sum(each.size for each in kept if each.kind == "file")
            if not whole or len(kept) > MOST_FILES or size > MOST_BYTES:
                raise Unreadable(f"more than {MOST_FILES} files or {MOST_BYTES} bytes")
            files = {
                each.path: File(await self._files.read(f"{home}/{each.path}"), bool(each.mode & 0o100))
                for each in kept if each.kind == "file"
            }  # fmt: skip
        except InputError as error:  # it has been taken away, or is closed to the guest
            raise Unreadable(str(error)) from error
        return files, frozenset(each.path for each in kept if each.kind == "folder")

    async def close(self) -> None:
        with contextlib.suppress(SandboxFailure):
            await self.toolbox.__aexit__()
        await self.lease.close()


class BareDesktop:
    """A bare guest's desktop as an `ActsOnDesktop`."""

    def __init__(self, remote: RemoteGuest, size: tuple[int, int]) -> None:
        self._remote, self.size = remote, size

    @classmethod
    async def open(cls, remote: RemoteGuest) -> BareDesktop:
        """Raises InputError for a guest without a screen, SandboxFailure."""
        return cls(remote, (await remote.screenshot()).size)

    async def launch(self, application: str, *arguments: str) -> int:
        """Launches an application by the name of its program, as a bare guest has no menu of ours."""
        return await self._remote.machine.start([application, *arguments])

    async def act(self, events: Sequence[InputEvent], *, settle: Settle | None = None) -> Screenshot:
        return await self._remote.act(events, settle=settle)

    async def screenshot(self, *, settle: Settle | None = None) -> Screenshot:
        return await (self._remote.screenshot() if settle is None else self._remote.act([], settle=settle))

    async def windows(self) -> list[WindowInfo]:
        seen, _ = await self._remote.client.call("look")
        sides = ("title", "process", "x", "y", "width", "height", "active")
        return [
            WindowInfo(id=number, app=("", ""), **{name: each[name] for name in sides})
            for number, each in enumerate(seen["windows"], 1)
        ]
