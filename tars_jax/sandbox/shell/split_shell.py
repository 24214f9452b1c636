"""A shell whose commands have stdout and stderr apart. Each is kept whole in a file inside, and read from a byte on.

The files are the agent's own user's. They do not lie in /tmp, which commands may empty; where a command has removed
them all the same, the next one has new ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import posixpath
import secrets
import shlex
from collections.abc import Iterator, Mapping

from tars_jax.sandbox.computer.guest_client import GuestClient, GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import prompt
from tars_jax.sandbox.shell.shell import Result, Shell
from tars_jax.sandbox.shell.text import unfinished

LARGEST_READ = 2 << 20  # bytes of one stream
PARTING = b"exit\n"  # what bash says to stderr when it is left
FOLDERS = ("/var/tmp", "/tmp")  # the first that takes a file
PROBE = bytes(64 << 10)  # what a disk that is not full takes
FULL = ("ENOSPC", "EDQUOT")
GONE_NOTICE = "[what this command wrote is lost: the file that held it was removed]\n"
FULL_NOTICE = "[the computer's disk is full: what this command wrote may be lost]\n"


@dataclasses.dataclass(frozen=True)
class StreamText:
    """What was written to a stream from a byte on."""

    text: str
    end: int  # the byte to go on from


class StreamFile:
    """The file that holds one stream. Bytes are counted on where the file was removed or emptied."""

    def __init__(self, client: GuestClient, path: str) -> None:
        self._client, self.path = client, path
        self._before = 0  # bytes that are lost
        self._end = 0  # of what was written
        self.gone = False

    async def make(self) -> None:
        """Raises GuestError where it cannot be."""
        await self._client.call("write", path=self.path)

    async def remove(self) -> None:
        with contextlib.suppress(GuestError, SandboxFailure):
            await self._client.call("remove", path=self.path)

    async def size(self) -> int:
        """Bytes of all that was written, with what is lost."""
        with self._looks():
            self._has((await self._client.call("stat", path=self.path))[0]["size"])
        return self._end

    async def read(self, begin: int) -> tuple[int, bytes]:
        """Bytes from `begin` on, or from the first that is not lost, and where they begin."""
        await self.size()
        begin, data = max(begin, self._before), b""
        with self._looks():
            _, data = await self._client.call(
                "read", path=self.path, offset=begin - self._before, limit=LARGEST_READ
            )  # fmt: skip
        return begin, data

    @contextlib.contextmanager
    def _looks(self) -> Iterator[None]:
        self.gone = False
        try:
            yield
        except GuestError as error:
            if error.code != "ENOENT":
                raise
            self.gone = True
            self._has(0)

    def _has(self, size: int) -> None:
        if self._before + size < self._end:
            self._before = self._end
        self._end = self._before + size


class SplitShell(Shell):
    """Its results hold what was written to the terminal alone."""

    def __init__(self, machine: GuestMachine, *, folder: str | None = None) -> None:
        super().__init__(machine, folder=folder)
        self._files: tuple[StreamFile, ...] = ()  # of stdout and stderr
        self._left = False  # whether the last command ended the shell by exit

    async def open(self) -> None:
        """Also after it has ended: what was written stays."""
        if not self._files:
            self._files = await self._made()
        await super().open()

    async def _made(self) -> tuple[StreamFile, ...]:
        """Raises GuestError where no folder takes them."""
        name = f".bash-{secrets.token_hex(8)}"
        for folder in FOLDERS:
            files = tuple(StreamFile(self._machine.client, f"{folder}/{name}.{stream}") for stream in ("out", "err"))
            try:
                for file in files:
                    await file.make()
                break
            except GuestError:
                if folder == FOLDERS[-1]:
                    raise
        return files

    async def remove_streams(self) -> None:
        """Removes what was written."""
        for file in self._files:
            await file.remove()

    async def run_split(self, command: str, timeout_s: float, env: Mapping[str, str]) -> Result:
        """As `run`, with stdout and stderr apart. `env`: variables of this command alone."""
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in env.items())
        out, err = (file.path for file in self._files)
        whole = f"{variables}eval {shlex.quote(command)} >>{out} 2>>{err}"
        prompt.lines_of(whole, command)
        for file in self._files:
            if file.gone:
                await self._machine.client.call("make_folder", path=posixpath.dirname(file.path))
                await file.make()
        return await self.run(whole, timeout_s)

    async def _result(self, timeout_s: float, restarted: bool = False) -> Result:
        result = await super()._result(timeout_s, restarted)
        if result.ended or result.exit_code is not None:
            self._left = result.ended and (result.exit_code or 0) >= 0
        return result

    async def sizes(self) -> tuple[int, int]:
        """Bytes of all that commands have written to stdout and to stderr."""
        out, err = [await file.size() for file in self._files]
        return out, err

    async def written(self, begins: tuple[int, int]) -> tuple[StreamText, StreamText]:
        """Of stdout and stderr, from these bytes on, at most LARGEST_READ of each."""
        out, err = [await self._written(file, begin) for file, begin in zip(self._files, begins, strict=True)]
        return out, err

    async def _written(self, file: StreamFile, begin: int) -> StreamText:
        begin, data = await file.read(begin)
        if self.running or len(data) == LARGEST_READ:  # the rest of a character that was begun comes with what follows
            data = data[: len(data) - unfinished(data, commands=False)]
        told = data.removesuffix(PARTING) if self._left and file is self._files[1] else data
        return StreamText(told.decode(errors="replace"), begin + len(data))

    async def notice(self, begins: tuple[int, int], *, failed: bool) -> str:
        """What there is to say of a command that has ended, and whose output began at these bytes: that its files are
        gone, or that it failed without a word on a disk that takes no more. Empty: nothing.
        """
        ends = await self.sizes()
        if any(file.gone for file in self._files):
            return GONE_NOTICE
        return FULL_NOTICE if failed and ends[1] == begins[1] and await self._is_full() else ""

    async def _is_full(self) -> bool:
        path = f"{self._files[1].path}.probe"
        try:
            await self._machine.client.call("write", PROBE, path=path)
        except GuestError as error:
            return error.code in FULL
        with contextlib.suppress(GuestError):
            await self._machine.client.call("remove", path=path)
        return False
