"""Programs that are run to their end, with what they have written."""

from __future__ import annotations

import os
import signal
from collections import deque
from typing import Any

from tars_jax.sandbox.computer.guest.calls import Call
from tars_jax.sandbox.computer.guest.kept import Ends
from tars_jax.sandbox.computer.guest.loop import READ, WRITE, Loop
from tars_jax.sandbox.computer.guest.processes import Processes

MOST_OUTPUT = 32 << 20  # bytes that are given back of stdout and stderr together
LINGER_S = 0.2  # for output of a program that has ended while a child of it holds the pipe
MOST_UNHEARD = 128  # pipes of programs in the background that are emptied; the oldest is then closed
CHUNK = 1 << 16


class ProgramRuns:
    def __init__(self, processes: Processes, loop: Loop) -> None:
        self.processes, self.loop = processes, loop
        self.named: dict[str, int] = {}  # the processes of those that have not ended
        self._unheard: deque[int] = deque()

    def call_run(self, call: Call) -> None:
        """Runs a program to its end, or to that of its time, and gives back what it wrote. `name`: for `end_run`.

        Without bytes of the call, its stdin is /dev/null. What it leaves in the background goes on.
        """
        call.check_read("name", "argv", "env", "cwd", "root", "timeout_s", "limit", "merge")
        limit = call.whole("limit", 1 << 20, 2, MOST_OUTPUT if call.flag("merge") else MOST_OUTPUT // 2)
        ProgramRun(self, call, limit)

    def call_end_run(self, call: Call) -> None:
        """Kills the process group of a `run`; one that has ended is nobody's mistake."""
        call.check_read("name")
        if (process := self.named.get(call.text("name"))) is not None:
            self.processes.kill(process, signal.SIGKILL)
        call.answer()

    def empty(self, descriptor: int) -> None:
        """Reads a pipe to its end and forgets it, so that whoever writes there is neither held up nor ended."""

        def read(_: int) -> None:
            try:
                if os.read(descriptor, CHUNK):
                    return
            except BlockingIOError:
                return
            self._unheard.remove(descriptor)
            self._close(descriptor)

        if len(self._unheard) >= MOST_UNHEARD:
            self._close(self._unheard.popleft())
        self._unheard.append(descriptor)
        self.loop.watch(descriptor, READ, read)

    def _close(self, descriptor: int) -> None:
        self.loop.watch(descriptor, 0, lambda _: None)
        os.close(descriptor)


class ProgramRun:
    """One program with its pipes. The bytes of the answer are stdout's two ends, then stderr's."""

    def __init__(self, runs: ProgramRuns, call: Call, limit: int) -> None:
        self._runs, self._loop, self._call = runs, runs.loop, call
        self._name = call.text("name", "")
        self._input = memoryview(call.data)
        self._timed_out = False
        self._status: int | None = None
        self._outputs: dict[int, Ends] = {}  # by the pipes that are open
        self._written = {"stdout": Ends(limit), "stderr": Ends(limit)}
        arguments: dict[str, Any] = {
            "argv": call.words("argv"), "env": call.texts("env"), "cwd": call.text("cwd", ""),
        }  # fmt: skip
        timeout, merge = call.number("timeout_s", 3600.0), call.flag("merge")
        ours: list[int] = []
        theirs: list[int] = []
        try:
            if root := call.text("root", ""):  # the folder must be below it
                folder = runs.processes.open_folder(root, call.text("cwd", "."), theirs)
                arguments["cwd"] = f"/proc/self/fd/{folder}"
            for _ in range(1 if merge else 2):
                read, write = _pipe()
                ours.append(read)
                theirs.append(write)
            arguments |= {"stdout": theirs[-1] if merge else theirs[-2], "stderr": theirs[-1]}
            if self._input:
                read, write = _pipe()
                ours.append(write)
                theirs.append(read)
                arguments["stdin"] = read
            self._pid = runs.processes.start(**arguments)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        self._stdin: int | None = ours.pop() if self._input else None
        if self._stdin is not None:
            self._loop.watch(self._stdin, WRITE, self._write)
        for descriptor, output in zip(ours, self._written.values(), strict=False):
            self._outputs[descriptor] = output
            self._loop.watch(descriptor, READ, lambda _, descriptor=descriptor: self._read(descriptor))  # type: ignore[misc]
        if self._name:
            runs.named[self._name] = self._pid
        runs.processes.on_end(self._pid, self._ended)
        self._timer = self._loop.later(timeout, self._late)

    def _write(self, _: int) -> None:
        try:
            while self._input:
                self._input = self._input[os.write(self._stdin, self._input[:CHUNK]) :]  # type: ignore[arg-type]
        except BlockingIOError:
            return
        except OSError:
            pass  # it does not want the rest
        self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin is not None:
            self._loop.watch(self._stdin, 0, self._write)
            os.close(self._stdin)
            self._stdin = None

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        if data:
            self._outputs[descriptor].add(data)
            return
        self._loop.watch(descriptor, 0, self._write)
        os.close(descriptor)
        del self._outputs[descriptor]
        if not self._outputs and self._status is not None:
            self._finish()

    def _late(self) -> None:
        self._timed_out = True
        self._runs.processes.kill(self._pid, signal.SIGKILL)

    def _ended(self, status: int) -> None:
        self._status = status
        self._runs.named.pop(self._name, None)
        self._timer.cancel()
        if self._outputs:
            self._timer = self._loop.later(LINGER_S, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        self._timer.cancel()
        self._close_stdin()
        for descriptor in self._outputs:
            self._runs.empty(descriptor)
        self._outputs = {}
        data = bytearray()
        answer: dict[str, Any] = {"status": self._status, "timed_out": self._timed_out}
        for name in list(self._written):
            head, cut, tail = self._written.pop(name).halves()  # much is held once only
            answer[name] = [len(head), cut, len(tail)]
            data += head
            data += tail
        del head, tail
        self._call.answer(answer, data)


def _pipe() -> tuple[int, int]:
    return os.pipe2(os.O_CLOEXEC)
