"""Interface of a computer, near or far, for an episode: functions, a screen, and what is judged from outside.

EquippedComputer (parts.py) has it for a container of this process, FarComputer
(../service/computers/far_computer.py) for one of a sandbox service.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tars_jax.environment import Function
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.computer.home import File, Given
from tars_jax.sandbox.computer.processes import Process
from tars_jax.sandbox.computer.walking import Sought
from tars_jax.sandbox.desktop.config import Settle
from tars_jax.sandbox.tools.forms import ToolResult


@dataclasses.dataclass(frozen=True)
class Outside:
    """State of the computer, as nobody inside tells it."""

    files: Mapping[str, File]  # below the home folder
    folders: frozenset[str]
    processes: tuple[Process, ...]
    ports: frozenset[int]  # that programs listen at
    windows: tuple[tuple[str, int | None], ...] = ()  # title, and the process that the window is of
    elsewhere: tuple[str, ...] = ()  # files that hold what was sought: absolute paths, or below the home


class ProgramLines(Protocol):
    """A program inside. What it says is kept out here, a line each."""

    async def lines(self, after: int = 0, timeout_s: float = 0.0) -> list[bytes]:
        """Lines from number `after` on; where there is none yet, waits `timeout_s` for one. Raises SandboxFailure."""
        ...

    async def close(self) -> None:
        """Closes the lines; a second call does nothing. The program hears that nobody listens."""
        ...


class ShowsPixels(Protocol):
    @property
    def pixels(self) -> Any:
        """np.uint8 [H, W, 3]."""
        ...

    @property
    def png(self) -> bytes: ...


class ShowsWindow(Protocol):
    """A window as the desktop knows it; lengths in pixels."""

    @property
    def title(self) -> str: ...
    @property
    def active(self) -> bool: ...
    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...


class ActsOnDesktop(Protocol):
    """Desktop has it; what calls do and raise is written there."""

    @property
    def size(self) -> tuple[int, int]: ...

    async def launch(self, application: str, *arguments: str) -> int: ...

    async def act(self, events: Sequence[InputEvent], *, settle: Settle | None = None) -> ShowsPixels: ...

    async def screenshot(self, *, settle: Settle | None = None) -> ShowsPixels: ...

    async def windows(self) -> Sequence[ShowsWindow]: ...


class ShowsPage(ShowsPixels, Protocol):
    @property
    def data(self) -> Any:
        """title, url and dialog."""
        ...


class ActsOnComputerPage(Protocol):
    """ComputerPage has it; what calls do and raise is written there."""

    async def start(self, *, seed: int) -> ShowsPage: ...

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> ShowsPage: ...

    async def navigate(self, address: str) -> None: ...

    async def back(self) -> None: ...

    async def choose_files(self, paths: Sequence[str]) -> None: ...


class TakesScene(Protocol):
    """Puts a scene into the computer before an agent acts."""

    async def put(self, files: Given, folders: Sequence[str] = ()) -> None:
        """Writes files and folders below the home folder, as the agent's own.

        Raises InputError for a path that does not lie there, SandboxFailure.
        """
        ...

    async def start(self, argv: Sequence[str]) -> None:
        """A program in the background, which nobody hears. Raises InputError, SandboxFailure."""
        ...


class ActsOnComputer(TakesScene, Protocol):
    """Calls raise SandboxFailure when the computer is gone; Broken where programs of the inside have broken it."""

    @property
    def desktop(self) -> ActsOnDesktop | None: ...

    @property
    def page(self) -> ActsOnComputerPage | None: ...

    @property
    def functions(self) -> Sequence[Function]:
        """Functions of MCP servers, after `start_servers`."""
        ...

    async def start_servers(self) -> None:
        """Starts the MCP servers of the spec, whose tools are `functions` then. Raises InputError, SandboxFailure."""
        ...

    def leave_out(self, name: str, why: str) -> None:
        """A function that is no use to who calls; `why` it was left out is said by `left_out`."""
        ...

    @property
    def left_out(self) -> Sequence[str]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Calls one of the spec's tools, or of `functions`. Raises SandboxFailure and nothing else."""
        ...

    async def follow(self, program: str, *arguments: str, stdin: bytes = b"") -> ProgramLines:
        """Runs the text of a Python program, which finds `stdin` at its input and hears no end of it."""
        ...

    async def outside(self, leaving_out: Collection[str] = (), seeking: Collection[Sought] = ()) -> Outside:
        """`leaving_out`: names in the home folder that are not looked into. Raises Unreadable.

        `seeking`: files that may be in any place that programs can write to, what is left out included; those of
        `files` are not told again. Programs stand still for that long, where the kind of isolation can see to it.
        """
        ...

    async def close(self) -> None:
        """Closes the computer; a second call does nothing."""
        ...
