"""Terminals: a program on a PTY of its own, whose last output is kept for whoever asks."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import struct
import termios
from collections.abc import Callable, Iterator
from fcntl import ioctl

from tars_jax.sandbox.computer.guest.calls import Call, CallError
from tars_jax.sandbox.computer.guest.identity import Identity
from tars_jax.sandbox.computer.guest.kept import Ring
from tars_jax.sandbox.computer.guest.loop import READ, WRITE, Loop
from tars_jax.sandbox.computer.guest.processes import Processes

KEPT = 256 << 10  # bytes of output, up to twice that
MOST_INPUT = 1 << 20  # bytes that a program has not read yet
MOST_TERMINALS = 512
CHUNK = 1 << 16
READS, LAST_READS = 64, 4096
# A terminal becomes that of a session when the session's first process opens it.
ENTER = ["/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&0']


class Terminal:
    def __init__(self, processes: Processes, identity: Identity, loop: Loop, call: Call) -> None:
        self._loop = loop
        try:
            self._master, self._slave = os.openpty()
        except OSError as error:
            raise CallError.of(error, "there is no further terminal") from error
        try:
            self._quiet = not call.flag("echo", True)
            self._modes = termios.tcgetattr(self._slave)
            if self._quiet:
                self._modes[1] &= ~termios.ONLCR
                self._modes[3] &= ~termios.ECHO
                termios.tcsetattr(self._slave, termios.TCSANOW, self._modes)
            self.resize(call)
            path = os.ttyname(self._slave)
            if identity.user is not None:
                os.fchown(self._slave, identity.user, -1)
            self.process = processes.start([*ENTER, path, *call.words("argv")], call.texts("env"), call.text("cwd", ""))
        except BaseException:
            os.close(self._master)
            os.close(self._slave)
            raise
        os.set_blocking(self._master, False)
        self._output = Ring(KEPT)
        self._input = bytearray()
        self._typed = 0  # bytes of input that have come
        self._waiting: list[Callable[[], None]] = []
        self.status: int | None = None
        self._open = True
        processes.on_end(self.process, self._ended)
        loop.watch(self._master, READ, self._ready)

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self._write()
        if events & READ:
            self._read(READS)
            self._wake()

    def _read(self, most: int) -> None:
        """A terminal gives no more than 4 KiB at a time; others have their turn after `most` times."""
        with contextlib.suppress(OSError):  # nothing there
            for _ in range(most):
                self._output.add(os.read(self._master, CHUNK))

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer()

    def _ended(self, status: int) -> None:
        """Hangs up on processes that hold the terminal besides the first, as when a window is closed."""
        if self._open:  # the descriptor may be another's by now
            self._read(LAST_READS)
        self.status = status
        self._hang_up()
        self._wake()

    def _hang_up(self) -> None:
        if self._open:
            self._open = False
            self._loop.watch(self._master, 0, self._ready)
            os.close(self._slave)
            os.close(self._master)

    def type(self, data: bytes, *, reset: bool) -> None:
        if not self._open:
            raise CallError("EIO", "the program of the terminal has ended")
        if len(self._input) + len(data) > MOST_INPUT:
            raise CallError("EAGAIN", "the program does not read its input")
        if reset:
            termios.tcsetattr(self._slave, termios.TCSANOW, self._modes)
        self._input += data
        self._typed += len(data)
        self._write()

    def _write(self) -> None:
        try:
            while self._input:
                del self._input[: os.write(self._master, self._input[:1024])]
        except BlockingIOError:
            pass
        self._loop.watch(self._master, READ | WRITE if self._input else READ, self._ready)

    def resize(self, call: Call) -> None:
        columns, rows = call.whole("columns", 120, 1, 1000), call.whole("rows", 40, 1, 1000)
        ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def output(self, call: Call) -> None:
        """Answers with what is there from a place on, at once or when there is some, the end, or no more time."""
        offset, limit = call.whole("offset"), call.whole("limit", 1 << 20, 1, 4 << 20)

        def answer() -> None:
            timer.cancel()
            start, data = self._output.read(offset, limit)
            call.answer({
                "start": start, "status": self.status, "foreground": self.foreground(), "typed": self._typed,
            }, data)  # fmt: skip

        def late() -> None:
            self._waiting.remove(answer)
            answer()

        timer = self._loop.later(call.number("timeout_s", 0.0), late)
        if self._output.end > offset or self.status is not None or not call.number("timeout_s", 0.0):
            answer()
        else:
            self._waiting.append(answer)

    def foreground(self) -> int | None:
        """The process group that C-c goes to."""
        if not self._open:
            return None
        with contextlib.suppress(OSError):
            return os.tcgetpgrp(self._master)
        return None

    def signal(self, number: int) -> int | None:
        """Sends a signal to the group in the foreground, and returns that. A key would be read by a program that takes
        them raw."""
        group = self.foreground()
        if group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        return group

    def close(self) -> None:
        """Ends every process of the terminal's session."""
        self._hang_up()
        for pid in session_of(self.process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def session_of(leader: int) -> Iterator[int]:
    """Processes of a session, by its first process."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.getsid(int(name)) == leader:
                    yield int(name)


class Terminals:
    def __init__(self, processes: Processes, identity: Identity, loop: Loop) -> None:
        self._processes, self._identity, self._loop = processes, identity, loop
        self._terminals: dict[int, Terminal] = {}
        self._numbers = itertools.count(1)

    def _of(self, call: Call) -> Terminal:
        number = call.whole("terminal")
        if number not in self._terminals:
            raise CallError("ESRCH", f"terminal must be one that is open; got {number}")
        return self._terminals[number]

    def call_open_terminal(self, call: Call) -> None:
        call.check_read("argv", "env", "cwd", "columns", "rows", "echo")
        if len(self._terminals) >= MOST_TERMINALS:
            raise CallError("EMFILE", f"there may be {MOST_TERMINALS} terminals at once")
        terminal = Terminal(self._processes, self._identity, self._loop, call)
        number = next(self._numbers)
        self._terminals[number] = terminal
        call.answer({"terminal": number, "process": terminal.process})

    def call_terminals(self, call: Call) -> None:
        call.check_read()
        call.answer({"terminals": [
            {"terminal": number, "process": each.process, "status": each.status}
            for number, each in self._terminals.items()
        ]})  # fmt: skip

    def call_type(self, call: Call) -> None:
        """`reset`: the terminal's modes are those that it began with. Nothing is typed to a program that has ended."""
        call.check_read("terminal", "reset")
        self._processes.reap()
        self._of(call).type(call.data, reset=call.flag("reset"))
        call.answer()

    def call_output(self, call: Call) -> None:
        call.check_read("terminal", "offset", "limit", "timeout_s")
        self._of(call).output(call)

    def call_resize(self, call: Call) -> None:
        call.check_read("terminal", "columns", "rows")
        terminal = self._of(call)
        if terminal.status is None:
            terminal.resize(call)
        call.answer()

    def call_signal_terminal(self, call: Call) -> None:
        call.check_read("terminal", "signal")
        call.answer({"group": self._of(call).signal(call.whole("signal", signal.SIGINT, 0, signal.NSIG - 1))})

    def call_close_terminal(self, call: Call) -> None:
        call.check_read("terminal")
        self._of(call).close()
        del self._terminals[call.whole("terminal")]
        call.answer()
