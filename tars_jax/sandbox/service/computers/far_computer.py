"""A computer of a sandbox service with the interface of one of this process: environments take either.

Everything is a call of the service: functions, the desktop or the page, and what is judged from outside.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.environment import Function
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.sessions.calls import event_to_json
from tars_jax.sandbox.computer.equipped.interface import Outside
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.sandbox.computer.home import UNPACK, UNPACKS_S, File, Given, packed, require_put
from tars_jax.sandbox.computer.processes import Process
from tars_jax.sandbox.computer.walking import Sought, Unreadable
from tars_jax.sandbox.desktop import Settle, WindowInfo
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient, RemoteComputer
from tars_jax.sandbox.tools.forms import BASH_TIMEOUT_S, ToolResult

PARTS = {"shell": ("functions",), "desktop": ("desktop",), "browser": ("browser",), "mcp": ("mcp",)}


def spec_to_json(spec: ComputerSpec) -> dict[str, Any]:
    """The spec as a request for a lease. Raises InputError for what no service gives.

    A shell is always there, as files and programs of a scene go in by it; an agent's functions are those of the spec.
    """
    if unknown := [part for part in spec.parts if part not in PARTS]:
        raise InputError(f"parts must be of {', '.join(PARTS)} for a computer of a service; got {unknown[0]!r}")
    if spec.binds:
        raise InputError(f"mcp must show no folders of this machine to a computer of a service; got {[*spec.binds]}")
    parts = ["shell", *(each for part in spec.parts for each in PARTS[part])]
    room = spec.room
    return {
        "parts": parts + ["mcp"] * (bool(spec.mcp) and "mcp" not in parts), "width": spec.desktop.width,
        "height": spec.desktop.height, "memory_mib": room.memory_mib, "processes": room.processes,
        "disk_mib": room.disk_mib, "shared_memory_mib": room.shared_memory_mib, "job_seconds": 0.0,
        "mcp": [dataclasses.asdict(server) for server in spec.mcp] or None, "taken": [*spec.taken, *spec.tools],
    }  # fmt: skip


async def open_far(client: ComputerClient, spec: ComputerSpec) -> FarComputer:
    """Raises InputError for what the service has not, QuotaExceeded, SandboxFailure."""
    return FarComputer(await client.open(**spec_to_json(spec)), spec)


class FarComputer:
    """An `ActsOnComputer`. A call that the service has once heard is not carried out twice."""

    def __init__(self, remote: RemoteComputer, spec: ComputerSpec) -> None:
        self.remote, self._spec = remote, spec
        self.desktop = FarDesktop(remote, spec) if "desktop" in spec.parts else None
        self.page = FarPage(remote) if spec.has_page else None
        self.functions: tuple[Function, ...] = ()
        self.left_out: tuple[str, ...] = ()
        self._tools = spec.tools if "shell" in spec.parts else ()

    async def forked(self) -> FarComputer:
        """Forks the computer: the copy goes on from here. Raises SandboxFailure, InputError, QuotaExceeded."""
        (fork,) = await self.remote.fork(1, "auto")
        return FarComputer(fork, self._spec)

    async def put(self, files: Given, folders: Sequence[str] = ()) -> None:
        archive = packed(files, tuple(folders))
        ran = await self.remote.call(
            "run_program", argv=list(UNPACK), stdin_base64=base64.b64encode(archive).decode(), timeout_s=UNPACKS_S,
            asked_s=UNPACKS_S,
        )  # fmt: skip
        require_put(ran["status"], _data(ran, "stderr"))

    async def start(self, argv: Sequence[str]) -> None:
        await self.remote.call("start_program", argv=list(argv))

    async def start_servers(self) -> None:
        """Does nothing: servers began with the session."""
        if self._spec.mcp:
            told = await self.remote.call("list_tools")
            self.left_out = tuple(told["left_out"])
            self.functions = tuple(
                Function(each["name"], each["description"], each["parameters"]) for each in told["tools"]
            )

    def leave_out(self, name: str, why: str) -> None:
        self.functions = tuple(each for each in self.functions if each.name != name)
        self.left_out = (*self.left_out, f"tool {name!r:.80} is left out: {why}")

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        given: dict[str, Any] = {"arguments": dict(arguments), "asked_s": BASH_TIMEOUT_S}
        try:
            if any(each.name == name for each in self.functions):
                told = await self.remote.call("call_tool", tool=name, **given)
            elif name in self._tools:
                told = await self.remote.call("call_function", function=name, **given)
            else:
                known = ", ".join(self._tools)
                return ToolResult(f"a function must be one of {known}; got {name!r:.80}", failed=True)
        except InputError as error:  # of what is no JSON, for instance
            return ToolResult(str(error), failed=True)
        return ToolResult(told["text"], tuple(base64.b64decode(image) for image in told["images"]), told["failed"])

    async def follow(self, program: str, *arguments: str, stdin: bytes = b"") -> FarFollowedProgram:
        told = await self.remote.call(
            "tell_program", program=program, arguments=list(arguments), stdin_base64=base64.b64encode(stdin).decode()
        )
        return FarFollowedProgram(self.remote, told["process"])

    async def outside(self, leaving_out: Collection[str] = (), seeking: Collection[Sought] = ()) -> Outside:
        """Raises SandboxFailure("person") where a person has had a hand in it: what is there is not the agent's."""
        told = await self.remote.call(
            "outside", leaving_out=list(leaving_out), seeking=[dataclasses.asdict(each) for each in seeking]
        )
        if told["takeovers"]:
            raise SandboxFailure("person", "a person has taken the computer over")
        if "unreadable" in told:
            raise Unreadable(told["unreadable"])
        files = {path: File(_data(file), file["executable"]) for path, file in told["files"].items()}
        processes = tuple(Process(**{**each, "argv": tuple(each["argv"])}) for each in told["processes"])
        windows = tuple((each["title"], each["process"]) for each in told["windows"])
        return Outside(
            files, frozenset(told["folders"]), processes, frozenset(told["ports"]), windows, tuple(told["elsewhere"])
        )

    async def close(self) -> None:
        await self.remote.close()


@dataclasses.dataclass(frozen=True)
class FarFollowedProgram:
    """A remote followed program as a `Told`."""

    remote: RemoteComputer
    process: int

    async def lines(self, after: int = 0, timeout_s: float = 0.0) -> list[bytes]:
        told = await self.remote.call(
            "told", process=self.process, after=after, timeout_s=timeout_s, asked_s=timeout_s
        )  # fmt: skip
        return [base64.b64decode(line) for line in told["lines_base64"]]

    async def close(self) -> None:
        """Does nothing: it ends with the computer."""


@dataclasses.dataclass(frozen=True)
class FarPicture:
    png: bytes

    @functools.cached_property
    def pixels(self) -> np.ndarray:
        """np.uint8 [H, W, 3]."""
        return PageObservation(self.png, None).pixels


class FarDesktop:
    """A remote desktop as an `ActsOnDesktop`."""

    def __init__(self, remote: RemoteComputer, spec: ComputerSpec) -> None:
        self._remote, self.config = remote, spec.desktop
        self.size = spec.desktop.width, spec.desktop.height

    async def launch(self, application: str, *arguments: str) -> int:
        return (await self._remote.call("launch", application=application, arguments=list(arguments)))["process"]

    async def act(self, events: Sequence[InputEvent], *, settle: Settle | None = None) -> FarPicture:
        return await self._shown("act", settle, events=[event_to_json(event) for event in events])

    async def screenshot(self, *, settle: Settle | None = None) -> FarPicture:
        return await self._shown("screenshot", settle)

    async def windows(self) -> list[WindowInfo]:
        told = (await self._remote.call("windows"))["windows"]
        return [WindowInfo(**{**each, "app": tuple(each["app"])}) for each in told]

    async def _shown(self, call: str, settle: Settle | None, **fields: Any) -> FarPicture:
        waits = None if settle is None else dataclasses.asdict(settle)
        asked_s = (settle or self.config.settle).bound_ms / 1000
        told = await self._remote.call(call, settle=waits, asked_s=asked_s, **fields)
        return FarPicture(base64.b64decode(told["png"]))


class FarPage:
    """A remote page as an `ActsOnComputerPage`."""

    def __init__(self, remote: RemoteComputer) -> None:
        self._remote = remote

    async def start(self, *, seed: int) -> PageObservation:
        return await self._shown("start", seed=seed)

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> PageObservation:
        return await self._shown("act", events=[event_to_json(event) for event in events], advance_ms=advance_ms)

    async def navigate(self, address: str) -> None:
        await self._shown("navigate", address=address, advance_ms=0.0)

    async def back(self) -> None:
        await self._shown("back", advance_ms=0.0)

    async def choose_files(self, paths: Sequence[str]) -> None:
        await self._shown("choose_files", paths=list(paths), advance_ms=0.0)

    async def _shown(self, call: str, **fields: Any) -> PageObservation:
        told = await self._remote.call(call, **fields)
        if told["restarted"]:  # what was typed and its cookies are gone, and the agent has not done that
            raise SandboxFailure("browser", "the page has ended, and the service has opened another in its place")
        return PageObservation(base64.b64decode(told["png"]), told["data"])


def _data(told: Mapping[str, Any], name: str = "data") -> bytes:
    """The inverse of `as_json` (part.py)."""
    return told[name].encode() if name in told else base64.b64decode(told[f"{name}_base64"])
