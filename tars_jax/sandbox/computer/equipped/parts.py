"""A computer with its parts: functions such as execute_bash, a desktop, a browser, all over one file system.

async with Computers() as computers:
    computer = await EquippedComputer.open(computers, ComputerSpec(parts=("shell", "desktop")))
    await computer.toolbox.call("execute_bash", {"command": "mousepad notes.txt &"})
    picture = await computer.desktop.screenshot()
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.environment import Function
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.equipped.interface import Outside
from tars_jax.sandbox.computer.equipped.page import ComputerPage
from tars_jax.sandbox.computer.equipped.phone import ComputerPhone
from tars_jax.sandbox.computer.followed_program import FollowedProgram
from tars_jax.sandbox.computer.home import Given
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Sought
from tars_jax.sandbox.desktop import DesktopConfig
from tars_jax.sandbox.desktop.applications import INSTALL
from tars_jax.sandbox.phone import PhoneConfig
from tars_jax.sandbox.tools.forms import Toolbox, ToolResult
from tars_jax.sandbox.tools.mcp.spec import ServerSpec, check_library, check_servers

if TYPE_CHECKING:
    from tars_jax.sandbox.desktop import Desktop
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

PARTS: Mapping[str, str] = {
    "shell": "the functions that `tools` names, over shells, files and kernels",
    "desktop": "an X server, a window manager and applications",
    "mcp": "tools of MCP servers that `mcp` names, which run inside",
    "browser": "a Chromium among the applications of the desktop; without one, a page of the sandbox's browser",
    "phone": "a phone attached by ADB: the stand-in, or the device that `phone` names",
}
# Of memory in MiB, and of processes and threads, besides what a computer has anyway.
_TAKES = {"shell": (0, 0), "mcp": (256, 64), "desktop": (512, 128), "browser": (1536, 512), "phone": (0, 0)}


@dataclasses.dataclass(frozen=True)
class ComputerSpec:
    """Raises InputError for parts that there are not."""

    parts: tuple[str, ...] = ("shell",)  # of PARTS
    tools: tuple[str, ...] = ("execute_bash",)  # of the shell, by their names in ../tools/forms.py
    container: ContainerSpec | None = None  # None: one in which the parts have room
    binds: Mapping[str, Path] = dataclasses.field(default_factory=dict)  # besides those of the container
    desktop: DesktopConfig = dataclasses.field(default_factory=DesktopConfig)  # its size is that of a page, too
    phone: PhoneConfig | None = None  # a device that ADB knows; None: a new stand-in
    phone_size: tuple[int, int] = (360, 640)  # of the stand-in, pixels
    seed: int = 0  # of the stand-in's contacts and notes
    mcp: tuple[ServerSpec, ...] = ()  # started with the computer, all at once
    taken: tuple[str, ...] = ()  # names that no tool of these may have, besides those of `tools`

    def __post_init__(self) -> None:
        check_parts(self.parts)
        check_servers(self.mcp, self.parts)

    @property
    def has_page(self) -> bool:
        """Whether its browser is a page (page.py), on a virtual clock and without a desktop."""
        return "browser" in self.parts and "desktop" not in self.parts

    @property
    def room(self) -> ContainerSpec:
        """The container that is given, or the default one with what the parts take besides."""
        binds = {**self.binds, **{place: path for spec in self.mcp for place, path in spec.binds.items()}}
        desktop = "desktop" in self.parts
        if self.container is not None:
            return dataclasses.replace(self.container, binds={**self.container.binds, **binds}, one_device=desktop)
        base = ContainerSpec(binds=binds, one_device=desktop)
        inside = [part for part in self.parts if not (part == "browser" and self.has_page)]
        memory, processes = (sum(_TAKES[part][which] for part in inside) for which in (0, 1))
        return dataclasses.replace(base, memory_mib=base.memory_mib + memory, processes=base.processes + processes)


def check_parts(parts: tuple[str, ...]) -> None:
    """Checks the names of parts. Raises InputError."""
    if unknown := [part for part in parts if part not in PARTS]:
        raise InputError(f"parts must be of {', '.join(PARTS)}; got {unknown[0]!r}")


@dataclasses.dataclass(eq=False)
class EquippedComputer:
    """A computer that an agent acts on, an `ActsOnComputer`. Programs that shells start show their windows on the
    desktop."""

    computer: Computer
    desktop: Desktop | None  # None: it has no such part
    toolbox: Toolbox
    page: ComputerPage | None = None
    phone: ComputerPhone | None = None
    foreign: ForeignTools | None = None  # of MCP servers: `foreign.functions`, `foreign.call`
    spec: ComputerSpec = dataclasses.field(default_factory=ComputerSpec)

    @classmethod
    async def open(
        cls, computers: Computers, spec: ComputerSpec, computer: Computer | None = None,
        browsers: BrowserManager | None = None, *, servers_later: bool = False,
    ) -> EquippedComputer:  # fmt: skip
        """`computer`: one that is open and has the room; it ends with what is returned. `browsers`: for its page.

        `servers_later`: those of MCP begin with `start_servers`, which whoever opens it calls.

        Raises InputError for a part whose programs are not installed, SandboxFailure.
        """
        if spec.has_page and browsers is None:
            raise InputError("parts must have desktop where they have browser and no page is opened; got browser alone")
        if "desktop" in spec.parts:
            from tars_jax.sandbox.desktop import Desktop  # over X, whose library is an extra
        computer = computer or await computers.open(spec.room)
        desktop = page = phone = None
        try:
            if "desktop" in spec.parts:
                folder = f"/tmp/.desktop-{secrets.token_hex(4)}"  # a home holds what the agent puts there
                desktop = await Desktop.start(computer.machine, spec.desktop, folder=folder)
                computer.machine.variables = desktop.env
                if "browser" in spec.parts and "browser" not in desktop.applications:
                    raise InputError(f"browser must be a Chromium, and none is installed; {INSTALL} with --browser")
            if spec.has_page and browsers is not None:
                page = await ComputerPage.open(browsers, computer.machine, (spec.desktop.width, spec.desktop.height))
            if "phone" in spec.parts:
                phone = await ComputerPhone.open(computer.machine, spec.phone_size, seed=spec.seed, config=spec.phone)
            tools = spec.tools if "shell" in spec.parts else ()
            toolbox = Toolbox(computer.machine, tools)
            equipped = cls(computer, desktop, toolbox, page, phone, spec=spec)
            if not servers_later:
                await equipped.start_servers()
        except BaseException:
            for part in (desktop, page, phone, computer):
                if part is not None:
                    await part.close()
            raise
        return equipped

    async def put(self, files: Given, folders: Sequence[str] = ()) -> None:
        await self.computer.put(files, folders)

    async def start(self, argv: Sequence[str]) -> None:
        await self.computer.start(argv)

    async def start_servers(self) -> None:
        if self.spec.mcp:
            check_library()
            from tars_jax.sandbox.tools.mcp.functions import ForeignTools

            taken = (*self.spec.taken, *self.spec.tools)
            self.foreign = await ForeignTools(self.computer.machine, self.spec.mcp, taken).__aenter__()

    @property
    def functions(self) -> Sequence[Function]:
        return () if self.foreign is None else self.foreign.functions

    @property
    def left_out(self) -> Sequence[str]:
        return () if self.foreign is None else self.foreign.left_out

    def leave_out(self, name: str, why: str) -> None:
        if self.foreign is not None:
            self.foreign.leave_out(name, why)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        called = self.foreign if self.foreign is not None and name in self.foreign else self.toolbox
        return await called.call(name, arguments)

    async def follow(self, program: str, *arguments: str, stdin: bytes = b"") -> FollowedProgram:
        return await self.computer.follow(program, *arguments, stdin=stdin)

    async def outside(self, leaving_out: Collection[str] = (), seeking: Collection[Sought] = ()) -> Outside:
        files, folders, elsewhere = await self.computer.kept(leaving_out, seeking)
        windows = [] if self.desktop is None else await self.desktop.windows()
        return Outside(
            files, folders, tuple(await self.computer.processes()), await self.computer.ports(),
            tuple((window.title, window.process) for window in windows), tuple(elsewhere),
        )  # fmt: skip

    async def fork(self, count: int = 1) -> list[EquippedComputer]:
        """Makes `count` live copies, each with all programs, shells and windows as they are. They share nothing.

        Raises SandboxFailure, also where programs cannot be copied live; InputError for a part that cannot be.
        """
        if self.page is not None:
            raise InputError("parts must be without a page to be copied live; got browser without desktop")
        copies: list[EquippedComputer] = []
        computers = await self.computer.fork(count, "live")
        try:
            snapshots = self.snapshots()
            for computer in computers:
                copies.append(await self.restored(computer, snapshots))
        except BaseException:
            for copied in copies:
                await copied.close()
            for computer in computers:
                await computer.close()
            raise
        return copies

    def snapshots(self) -> dict[str, Any]:
        """Snapshots of its parts, by name. Raises InputError for a part that cannot be copied."""
        parts = {"toolbox": self.toolbox, "desktop": self.desktop, "phone": self.phone, "foreign": self.foreign}
        return {name: part.snapshot() for name, part in parts.items() if part is not None}

    async def restored(self, computer: Computer, snapshots: Mapping[str, Any]) -> EquippedComputer:
        """The parts in a copy of the computer that has its programs. Raises SandboxFailure."""
        machine, desktop, phone, foreign = computer.machine, None, None, None
        if "desktop" in snapshots:
            from tars_jax.sandbox.desktop import Desktop  # over X, whose library is an extra

            desktop = await Desktop.restore(machine, snapshots["desktop"])
            machine.variables = desktop.env
        if "phone" in snapshots:
            from tars_jax.sandbox.computer.equipped.phone import ComputerPhone

            phone = await ComputerPhone.open(machine, saved=snapshots["phone"])
        if self.foreign is not None and "foreign" in snapshots:
            foreign = self.foreign.restored(machine, snapshots["foreign"])
        toolbox = self.toolbox.restored(machine, snapshots["toolbox"])
        return EquippedComputer(computer, desktop, toolbox, phone=phone, foreign=foreign, spec=self.spec)

    async def close(self) -> None:
        """Closes all parts; a second call does nothing. Nothing of the parts is left, whatever fails on the way."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.computer.close)
            if self.desktop is not None:
                stack.push_async_callback(self.desktop.close)
            if self.page is not None:
                stack.push_async_callback(self.page.close)
            if self.phone is not None:
                stack.push_async_callback(self.phone.close)
            if self.foreign is not None:
                stack.push_async_callback(self.foreign.__aexit__)
            await self.toolbox.__aexit__()
