"""Kernels of a computer: cells whose variables live from one to the next, of Python, or of JavaScript by node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.computer import guest
from tars_jax.sandbox.computer.guest_client import GuestError, Streams
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell.text import aside
from tars_jax.sandbox.tools.cell_output import CellOutput, CellResult

LIMIT = 30_000  # characters of each text of a result
LONGEST_LINE = 256 << 10  # bytes: a cell can write to its kernel's stream, and JSON is read on the event loop
STARTS_IN_S = 120.0
GRACE_S = 3.0  # for an interrupted cell
KINDS = ("auto", "jupyter", "python", "node")
NODE = Path(guest.__file__).with_name("node_kernel.js")
STILL_RUNNING = "a cell must have ended before the next; one is still running: wait or interrupt it"


class Kernel:
    """Use as an async context manager."""

    def __init__(
        self, machine: GuestMachine, *, kind: str = "auto", python: str = "python3", folder: str | None = None,
        env: Mapping[str, str] | None = None, limit: int = LIMIT, clean: bool = True, programs: str = "",
    ) -> None:  # fmt: skip
        """`python`: whose packages the cells have. `programs`: the folder of the guest's own, if they are elsewhere.

        `kind`: "jupyter" for IPython by ipykernel, "python" for a small kernel that needs no package, "auto" for the
        first that is there; "node" for JavaScript, which an interrupt ends. `limit`: characters of each text of a
        result. `clean`: without escape sequences.
        """
        if kind not in KINDS:
            raise InputError(f"kind of a kernel must be one of {', '.join(KINDS)}; got {kind!r}")
        self._machine, self._kind, self._python = machine, kind, python
        self._programs = programs
        self._folder, self._env, self._limit, self._clean = folder, dict(env or {}), limit, clean
        self._process: int | None = None
        self._streams: Streams | None = None
        self._cells = 0  # that were sent
        self._behind = False  # what was sent before is not known to have ended: another process sent it
        self._lock = asyncio.Lock()
        self.kept: Callable[[], None] = lambda: None  # called when `snapshot` is another one

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def snapshot(self) -> dict[str, Any]:
        """Snapshot with which `restore` goes on, in another process, too."""
        return {
            "process": self._process, "kind": self._kind, "python": self._python, "folder": self._folder,
            "env": self._env, "limit": self._limit, "cells": self._cells,
        }  # fmt: skip

    @classmethod
    def restore(cls, machine: GuestMachine, snapshot: Mapping[str, Any]) -> Kernel:
        """The kernel that another process has left in the same computer, or a copy of it, with its variables.

        What a cell said that was under way is lost. Where the kernel has ended, the next cell says so (`restarted`).
        Raises KeyError, TypeError for what is no snapshot.
        """
        kernel = cls(
            machine, kind=snapshot["kind"], python=snapshot["python"], folder=snapshot["folder"], env=snapshot["env"],
            limit=snapshot["limit"],
        )  # fmt: skip
        if snapshot["process"] is not None:
            kernel._process, kernel._cells, kernel._behind = int(snapshot["process"]), int(snapshot["cells"]), True
        return kernel

    async def detach(self) -> None:
        """Nothing connects host and kernel until the next cell. Raises InputError while one is running."""
        self._require_idle()
        async with self._lock:
            if self._streams is not None:
                streams, self._streams, self._behind = self._streams, None, True
                streams[1].close()

    async def attach(self) -> None:
        """With the next cell."""

    async def start(self) -> None:
        """Raises InputError for kind="jupyter" where that is not installed, GuestError where the program is not there,
        SandboxFailure for one that hangs.
        """
        self._process, self._streams = await self._machine.pipe(
            await self._argv(), env=self._env, cwd=self._folder, longest_line=LONGEST_LINE, kept=True
        )
        self._cells, self._behind = 0, False
        self._machine.links.add(self)
        message = await self._next(STARTS_IN_S)
        if message is None or "ready" not in message:
            await self.close()
            raise SandboxFailure("guest", f"the kernel did not start: {'it ended' if message is None else message}")

    async def _argv(self) -> list[str]:
        """Finds out which kind "auto" is."""
        if self._kind == "node":
            return ["node", "-e", NODE.read_text()]
        if self._kind != "python":
            check = "import ipykernel, jupyter_client"
            ran = await self._machine.run([self._python, "-c", check], env=self._env, timeout_s=STARTS_IN_S)
            if ran.status and self._kind == "jupyter":
                raise InputError(
                    f"kind of a kernel must be 'python' where ipykernel and jupyter_client are not installed for "
                    f"{self._python} inside (python3 -m pip install ipykernel); got 'jupyter'"
                )
            self._kind = "python" if ran.status else "jupyter"
        program = "jupyter_kernel.py" if self._kind == "jupyter" else "kernel.py"
        return [self._python, f"{self._programs or self._machine.folder}/{program}"]

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def process(self) -> int | None:
        """Its number inside; None: it does not run."""
        return self._process

    def require_kind(self, kind: str) -> None:
        """One of KINDS; "auto" is whichever it is. A kernel that does not run yet, or any more, begins as this kind.

        Raises InputError for another kind than that of the kernel that runs.
        """
        if kind == "auto":
            return
        if self._process is None and not self._lock.locked():
            self._kind = kind
        elif self._process is not None and kind != self._kind:
            raise InputError(
                f"kind of a kernel that runs must be its own, {self._kind!r}; got {kind!r}: close it, or name another"
            )

    async def run(self, code: str, timeout_s: float = 120.0) -> CellResult:
        """Runs a cell. After `timeout_s` it is interrupted; if it does not heed that, the kernel begins anew.

        Raises InputError while another cell is running.
        """
        self._require_idle()
        async with self._lock:
            if self._behind and not await self._caught_up(timeout_s):
                return CellResult(restarted=True)
            if self._streams is None:
                await self.start()
            self._behind = True  # until its end is heard of, also where this call is taken back
            await self._send(code)
            result = await self._result(timeout_s)
            self._behind = False
            return result

    def _require_idle(self) -> None:
        if self._lock.locked():
            raise InputError(STILL_RUNNING)

    async def _send(self, code: str) -> None:
        assert self._streams is not None
        self._cells += 1
        self.kept()
        with contextlib.suppress(OSError):
            self._streams[1].write(json.dumps({"code": code, "cell": self._cells}).encode() + b"\n")
            await self._streams[1].drain()

    async def _caught_up(self, timeout_s: float) -> bool:
        """Whether the kernel is there and has ended what was sent before: an empty cell's end is behind all others.

        Raises InputError where a cell takes longer than `timeout_s`.
        """
        assert self._process is not None
        try:
            if self._streams is None:
                self._streams = await self._machine.attach(self._process, longest_line=LONGEST_LINE)
                self._machine.links.add(self)
                self._streams[1].write(b"\n")  # behind what the process before has left of a line
                await self._send("")
            async with asyncio.timeout(timeout_s):
                while line := await self._streams[0].readline():
                    message = _message(line) or {}  # or the rest of a line
                    if message.get("done") and message.get("cell") == self._cells:
                        self._behind = False
                        return True
                    await asyncio.sleep(0)  # lines that are there already must not keep everybody waiting
        except TimeoutError:
            raise InputError(STILL_RUNNING) from None
        except (OSError, ValueError, GuestError):
            pass
        await self.close()
        return False

    async def interrupt(self) -> None:
        """The running cell, if there is one, ends with KeyboardInterrupt."""
        if self._process is not None and (self._lock.locked() or self._behind):
            await self._machine.kill(self._process, signal.SIGINT)

    async def close(self) -> None:
        """Ends the kernel. The next cell begins a new one."""
        process, streams, self._process, self._streams = self._process, self._streams, None, None
        self._behind = False
        self._machine.links.remove(self)
        self.kept()
        if streams is not None:
            streams[1].close()
        if process is not None:
            await self._machine.kill(process)

    async def _result(self, timeout_s: float) -> CellResult:
        clock = asyncio.get_running_loop().time
        end = clock() + timeout_s
        said = CellOutput(self._limit, self._clean)
        timed_out = restarted = False
        while True:
            try:
                message = await self._next(max(end - clock(), 0.0))
            except TimeoutError:
                if timed_out:
                    await self.close()
                    restarted = True
                    break
                timed_out, end = True, clock() + GRACE_S
                await self.interrupt()
                continue
            if message is None:
                await self.close()
                restarted = True
                break
            if "done" in message:
                break
            said.add(message)
        return await aside(partial(said.result, timed_out=timed_out, restarted=restarted))

    async def _next(self, timeout_s: float) -> dict[str, Any] | None:
        """None: the kernel has ended, or what it says is no message."""
        assert self._streams is not None
        try:
            async with asyncio.timeout(timeout_s):
                line = await self._streams[0].readline()
        except (OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            return None
        await asyncio.sleep(0)  # lines that are there already must not keep everybody waiting
        return _message(line)


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
