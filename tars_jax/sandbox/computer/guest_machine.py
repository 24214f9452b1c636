"""The machine that calls to a guest make: its programs, and connections to its ports."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import (
    CALL_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    LONGEST_LINE,
    GuestClient,
    GuestError,
    Streams,
)
from tars_jax.sandbox.failures import SandboxFailure

POLL_S = 30.0  # the guest is asked again, so that one that is gone is noticed


class HasFiles(Protocol):
    """A container, as far as the host's side of its guest needs one."""

    def host_path(self, path: str) -> Path: ...


@dataclasses.dataclass(frozen=True)
class Ran:
    """Output and exit status of a program that was run to its end."""

    status: int  # its exit status, minus the signal's number if one ended it
    stdout: bytes
    stderr: bytes
    stdout_cut: int = 0  # bytes missing in the middle of stdout
    stderr_cut: int = 0
    timed_out: bool = False  # it was killed


def _words(argv: Sequence[str]) -> list[str]:
    if isinstance(argv, str | bytes):
        raise InputError(f"argv must be a list of words, such as ['ls', '-l']; got {argv!r}")
    return list(argv)


class GuestMachine:
    """A `Machine` by its guest. Use as an async context manager, which waits until the guest answers."""

    def __init__(self, client: GuestClient, container: HasFiles) -> None:
        self.client, self._container = client, container
        self.links = client.links
        self._home = "/"
        self.variables: Mapping[str, str] = {}  # of all programs that are started from now on
        self.folder = self.python = ""  # where the guest's own files are inside, and the Python that runs it

    async def __aenter__(self) -> Self:
        """Raises SandboxFailure for a guest that does not answer in CONNECT_TIMEOUT_S."""
        hello, _ = await self.client.call("hello", patience_s=CONNECT_TIMEOUT_S)
        self._home, self.folder, self.python = hello["home"], hello["folder"], hello["python"]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    @property
    def home(self) -> str:
        return self._home

    def host_path(self, path: str) -> Path:
        return self._container.host_path(path)

    def _with(self, env: Mapping[str, str] | None) -> dict[str, str]:
        return {**self.variables, **(env or {})}

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        output: str | None = None,
    ) -> int:  # fmt: skip
        arguments: dict[str, Any] = {"argv": _words(argv), "env": self._with(env), "cwd": cwd, "output": output}
        started, _ = await self.client.call("start", **arguments)
        return started["process"]

    async def wait(self, process: int, timeout_s: float | None = None) -> int | None:
        clock = asyncio.get_running_loop().time
        end = None if timeout_s is None else clock() + timeout_s
        while True:
            rest = POLL_S if end is None else min(max(end - clock(), 0.0), POLL_S)
            ended, _ = await self.client.call(
                "wait", process=process, timeout_s=rest, patience_s=rest + CALL_TIMEOUT_S
            )  # fmt: skip
            if ended["status"] is not None:
                return ended["status"]
            if end is not None and clock() >= end:
                return None

    async def kill(self, process: int, number: int = signal.SIGKILL) -> None:
        await self.client.call("kill", process=process, signal=number)

    async def run(
        self, argv: Sequence[str], stdin: bytes = b"", *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        root: str | None = None, timeout_s: float = 120.0, limit: int = 1 << 20, merge: bool = False,
    ) -> Ran:  # fmt: skip
        """Runs a program to its end. Its process group is killed after `timeout_s`, and where this call is cancelled.

        `limit`: bytes that are kept of stdout and of stderr, from their beginning and end. `merge`: stderr goes where
        stdout goes. With `root`, no link may lead `cwd` out of that folder. What the program leaves in the background
        goes on, unheard. Raises as `start`.
        """
        name = secrets.token_hex(8)
        try:
            answer, data = await self.client.call(
                "run", stdin, name=name, argv=_words(argv), env=self._with(env), cwd=cwd, root=root,
                timeout_s=timeout_s, limit=limit, merge=merge, patience_s=timeout_s + CALL_TIMEOUT_S,
            )  # fmt: skip
        except asyncio.CancelledError:
            if self.client.is_connected:
                with contextlib.suppress(GuestError, SandboxFailure):
                    await asyncio.shield(self.client.call("end_run", name=name))
            raise
        (head, stdout_cut, tail), (_, stderr_cut, _) = answer["stdout"], answer["stderr"]
        return Ran(
            answer["status"], data[: head + tail], data[head + tail :], stdout_cut, stderr_cut, answer["timed_out"]
        )

    async def connect(self, target: int | str) -> Streams:
        """A stream to a port of the inside, or to a unix socket by its path there.

        Raises GuestError where nothing answers.
        """
        if isinstance(target, int):
            return await self.client.connect(port=target)
        return await self.client.connect(path=target)

    async def pipe(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        longest_line: int = LONGEST_LINE, kept: bool = False,
    ) -> tuple[int, Streams]:  # fmt: skip
        """Starts a program whose stdin and stdout are the stream; its id inside. Raises as `start`.

        `longest_line`: bytes that `readline` and `readuntil` of the stream take. `kept`: the program does not hear of
        the stream's end, and `attach` makes another one.
        """
        started, streams = await self.client.stream(
            "pipe", longest_line=longest_line, argv=_words(argv), env=self._with(env), cwd=cwd, kept=kept
        )
        return started["process"], streams

    async def attach(self, process: int, *, longest_line: int = LONGEST_LINE) -> Streams:
        """The stream of a program that `pipe` has started as `kept`: what it said to nobody comes first.

        Whoever had a stream to it has it no more. Raises GuestError for one that has ended.
        """
        return (await self.client.stream("attach", longest_line=longest_line, process=process))[1]
