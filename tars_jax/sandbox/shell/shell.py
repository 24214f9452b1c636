"""A session of bash in a computer: one call after another, with everything that the calls before have left."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
import shlex
import signal
from collections.abc import Callable, Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import prompt
from tars_jax.sandbox.shell.terminal import ENDED, GuestTerminal
from tars_jax.sandbox.shell.transcript import Transcript

LIMIT = 30_000  # characters of output
STARTS_IN_S = 30.0
POLL_S = 10.0
GREETS_IN_S = 10.0
CHANGES_IN_S = 5.0
LONGEST_PAUSE_S = 0.02
GRACE_S = 0.5  # for output that is there already
BUSY = "a command is still running in this shell: wait for it, send it input, interrupt or kill it"
RESTARTED = "[the shell had ended: this is a new one]"


class ShellBusy(InputError):
    """A command is running: wait for it, send it input, interrupt or kill it."""


@dataclasses.dataclass(frozen=True)
class Result:
    output: str
    exit_code: int | None  # None: the command is still running
    folder: str  # that the shell is in; of a command that is running, where it began
    restarted: bool = False  # the shell had ended; this is a new one, without what it knew
    ended: bool = False  # the shell itself has ended: by exit, or killed; the next call begins anew


class Shell:
    """Use as an async context manager, or `open` and `close`. Bash must be there inside."""

    def __init__(
        self, machine: GuestMachine, *, limit: int = LIMIT, clean: bool = True, folder: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """`limit`: characters of a result's output. `clean`: without escape sequences, see text.py.

        `folder` and `env`: of a new shell.
        """
        self._machine, self._limit, self._clean = machine, limit, clean
        self._first_folder, self._env = folder or machine.home, dict(env or {})
        self._terminal: GuestTerminal | None = None
        self.first_process: int | None = None  # inside, that of bash itself
        self._lock = asyncio.Lock()
        self._running = self._had_one = False
        self._folder = self._first_folder
        self._status: int | None = None  # of bash itself, once it has ended
        self._typed = self._told_typed = 0  # bytes into its terminal: of ours, and that the guest knows of
        self._due = 0  # such bytes when the last command has come
        self._unsure = False  # whether what was typed arrived: another process typed it, or heard of no answer
        self._file = ""  # inside, that holds the command
        self.kept: Callable[[], None] = lambda: None  # called when `snapshot` is another one

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def snapshot(self) -> dict[str, Any]:
        """Snapshot with which `restore` goes on, in another process, too; what was not told yet, it is told then."""
        terminal = self._terminal
        return {
            "terminal": terminal and terminal.number, "first_process": self.first_process, "limit": self._limit,
            "clean": self._clean, "first_folder": self._first_folder, "env": self._env, "folder": self._folder,
            "running": self._running, "file": self._file, "had_one": self._had_one,
            **({**self._transcript.snapshot(), "due": self._due} if terminal else {}),
        }  # fmt: skip

    @classmethod
    def restore(cls, machine: GuestMachine, snapshot: Mapping[str, Any]) -> Shell:
        """The shell in the same computer, or a copy of it: its folder, its variables, what runs in it, and what that
        has written since the snapshot was taken. Where it has ended, the next call begins anew and says so.

        Raises KeyError, TypeError, ValueError for what is no snapshot.
        """
        limit, clean = snapshot["limit"], snapshot["clean"]
        shell = cls(machine, limit=limit, clean=clean, folder=snapshot["first_folder"], env=snapshot["env"])
        shell._folder, shell._file, shell._had_one = snapshot["folder"], snapshot["file"], snapshot["had_one"]
        shell.first_process = snapshot["first_process"]
        if snapshot["terminal"] is not None:
            shell._terminal = GuestTerminal(machine.client, snapshot["terminal"])
            shell._transcript = Transcript.restore(snapshot, limit, clean)
            shell._running, shell._due = bool(snapshot["running"]), snapshot["due"]
            shell._unsure = shell._running
        return shell

    @property
    def running(self) -> bool:
        """Whether a command had not ended when it was last looked at."""
        return self._running

    @property
    def folder(self) -> str:
        """That it is in; where a command is running, where that began."""
        return self._folder

    @property
    def untold(self) -> str:
        """The end of what the command that runs has written and no result has held yet, as far as it has been read."""
        return self._transcript.last() if self.running else ""

    async def open(self) -> None:
        """Starts bash. Raises GuestError where there is none, Broken where programs inside have taken all terminals,
        SandboxFailure where it does not come to its prompt.
        """
        secret = secrets.token_hex(16)
        argv, env = self._argv(secret), {**self._machine.variables, **self._env, **self._variables(secret)}
        self._terminal, self.first_process = await GuestTerminal.open(
            self._machine.client, argv, env=env, cwd=self._first_folder, echo=False
        )  # fmt: skip
        self._transcript = Transcript(secret, self._limit, self._clean)
        self._status, self._typed, self._due = None, 0, 0
        try:
            if await self._until_prompt(STARTS_IN_S) is None:
                said = f"it ended with {self._status}: {self._transcript.last()[:200]}"
                why = "no prompt came" if self._status is None else said
                raise SandboxFailure("guest", f"{argv[0]} did not start: {why}")
            await self._greet()
        except BaseException:
            await self.close()
            raise
        self._had_one = True
        self.kept()

    async def close(self) -> None:
        """Ends the shell and every process of its session. Harmless when it has ended."""
        terminal, self._terminal, self._running, self._unsure = self._terminal, None, False, False
        self.kept()
        if terminal is not None:
            with contextlib.suppress(GuestError, SandboxFailure):
                await terminal.close()
            await self._remove_file()

    async def run(self, command: str, timeout_s: float = 120.0) -> Result:
        """Runs a command to its end, or until it has taken `timeout_s` and runs on.

        Raises ShellBusy while another is running, InputError for a command that bash cannot be given.
        """
        lines = prompt.lines_of(command)
        if self._lock.locked():
            raise ShellBusy(BUSY)
        async with self._lock:
            await self._make_sure()
            if self._running:  # it may have ended since
                await self._until_prompt(0)
            if self._running and self._status is None:
                raise ShellBusy(BUSY)
            if self._terminal is not None and (self._status is not None or not await self._begun(lines)):
                await self.close()
            restarted = self._terminal is None and self._had_one
            if self._terminal is None:
                await self.open()
                if not await self._begun(lines):
                    raise SandboxFailure("guest", "a shell has ended as soon as it had begun")
            return await self._result(timeout_s, restarted)

    async def _begun(self, lines: bytes) -> bool:
        """Types a command; whether there is a shell that it was typed to. Where it raises, nothing has begun."""
        transcript = self._transcript
        transcript.number += 1
        try:
            words = await self._words(lines)
            self._running, transcript.typed, self._due = True, words, self._typed + len(words)
            self.kept()
            await self._type(words, reset=True)
        except GuestError as error:
            self._running = False
            transcript.number -= 1
            self.kept()
            if error.code != ENDED:
                raise
        except (asyncio.CancelledError, SandboxFailure):
            self._unsure = self._running
            raise
        except BaseException:
            self._running = False
            raise
        return self._running

    async def change_folder(self, folder: str) -> Result:
        """Raises as `run`; a folder that is not there is an exit code."""
        return await self.run(f"cd -- {shlex.quote(folder)}", CHANGES_IN_S)

    async def more(self, timeout_s: float = 10.0) -> Result:
        """Output of a running command since the last call, once it ends or after `timeout_s`."""
        async with self._lock:
            await self._make_sure()
            return await self._result(timeout_s)

    async def send(self, text: str | bytes, timeout_s: float = 1.0) -> Result:
        """Types into the running command, "\\x04" for the end of its input, and returns what it wrote then.

        Raises InputError where no command is running, or it does not read what it was given.
        """
        await self._make_sure_apart()
        if not self._running:
            raise InputError("a command must be running to be sent input; got none")
        try:
            await self._type(text.encode(errors="surrogateescape") if isinstance(text, str) else text)
        except GuestError as error:
            if error.code != ENDED:
                raise
        return await self._after(timeout_s)

    async def interrupt(self, timeout_s: float = 2.0) -> Result:
        """Sends SIGINT, as C-c does, to the command in the foreground, which may ignore it."""
        return await self._signal(signal.SIGINT, timeout_s)

    async def kill(self, timeout_s: float = 2.0) -> Result:
        """Ends the command in the foreground for sure; where the shell itself is what is running, that."""
        return await self._signal(signal.SIGKILL, timeout_s)

    async def stop(self) -> Result:
        """Ends the command that runs, as nobody waits for it: by C-c or, where it does not heed that, for sure."""
        result = await self.interrupt()
        return await self.kill() if self._running and not result.ended else result

    async def _signal(self, number: int, timeout_s: float) -> Result:
        await self._make_sure_apart()
        if self._running and self._terminal is not None:
            await self._terminal.signal(number)
        return await self._after(timeout_s)

    async def _make_sure(self) -> None:
        """Whether a command arrived whose typing nobody has heard of: the process that typed it may have gone."""
        if self._unsure:
            await self._read(0.0)
            self._unsure = False
            self._running = self._told_typed >= self._due
            self._typed = self._told_typed

    async def _make_sure_apart(self) -> None:
        if self._unsure:
            async with self._lock:
                await self._make_sure()

    async def _after(self, timeout_s: float) -> Result:
        """What came of it; where another call is waiting for the command, that call gets it."""
        if self._lock.locked():
            return Result("", None, self._folder)
        return await self.more(timeout_s)

    # What is typed to the terminal, and what it says.

    def _open_terminal(self) -> GuestTerminal:
        if self._terminal is None:
            raise GuestError("ESRCH", "the shell was closed")
        return self._terminal

    async def _type(self, data: bytes, *, reset: bool = False) -> None:
        await self._open_terminal().type(data, reset=reset)
        self._typed += len(data)

    def _argv(self, secret: str) -> list[str]:
        return ["bash", "--noediting", "-i"]

    def _variables(self, secret: str) -> dict[str, str]:
        return prompt.variables(secret)

    async def _words(self, lines: bytes) -> bytes:
        """What is typed for a command. A long one is put into a file first; it is there until the command has ended."""
        number, traps = self._transcript.number, self._transcript.traps
        if (line := prompt.typed(lines, number, traps=traps)) is not None:
            return line
        self._file = f"/tmp/.command-{secrets.token_hex(8)}"
        await self._machine.client.call("write", lines, path=self._file, mode=0o600)
        return prompt.typed_by_file(self._file, number, traps=traps)

    async def _remove_file(self) -> None:
        path, self._file = self._file, ""
        if path:
            with contextlib.suppress(GuestError, SandboxFailure):
                await self._machine.client.call("remove", path=path)

    async def _greet(self) -> None:
        """Tells a shell how it is spoken to. What it says meanwhile is its own prompt, and whatever it greets with."""
        await self._type(prompt.GREETING, reset=True)
        clock = asyncio.get_running_loop().time
        end = clock() + GREETS_IN_S
        while (found := await self._until_prompt(end - clock())) and not found.ready:
            pass
        self._transcript.forget()

    async def _read(self, timeout_s: float) -> bool:
        """Takes what comes next, if something comes in time."""
        try:
            heard = await self._open_terminal().read(self._transcript.offset, timeout_s)
        except GuestError as error:
            raise SandboxFailure("guest", f"the terminal of the shell is gone: {error}") from error
        self._transcript.add(heard.start, heard.data)
        self._told_typed = heard.typed
        if not heard.data:
            self._status = heard.status
        return bool(heard.data)

    async def _until_prompt(self, timeout_s: float) -> prompt.ShellPrompt | None:
        """None: there was none in time, or the shell has ended: its status is then `_status`."""
        clock = asyncio.get_running_loop().time
        end, pause = clock() + timeout_s, 0.0
        while True:
            some = await self._read(min(max(end - clock(), 0.0), POLL_S))
            if found := self._transcript.find_prompt():
                self._running, self._folder = False, found.folder
                return found
            if self._status is not None or clock() >= end + (GRACE_S if some else 0.0):
                return None
            if some:
                await asyncio.sleep(min(pause, max(end - clock(), 0.0)))  # for more at once, where there is much
                pause = min(2 * pause + 0.001, LONGEST_PAUSE_S)

    async def _result(self, timeout_s: float, restarted: bool = False) -> Result:
        if self._terminal is None:
            return Result("", None, self._folder, ended=True)
        found = await self._until_prompt(timeout_s if self._running else 0.0)
        if self._status is not None:
            self._transcript.end()
        output = await self._transcript.take(whole=not self._running or self._status is not None)
        self.kept()
        if found and not found.ready:
            await self._greet()
        if not self._running:
            await self._remove_file()
        if self._status is not None:
            await self.close()
            return Result(output, self._status, self._folder, restarted, ended=True)
        return Result(output, found.status if found else None, self._folder, restarted)
