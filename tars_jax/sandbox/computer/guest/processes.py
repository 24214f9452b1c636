"""Programs that the guest starts: each in a process group of its own; every child that ends is reaped."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tars_jax.sandbox.computer.guest.calls import Call, CallError, encodable
from tars_jax.sandbox.computer.guest.identity import Identity, OomScoreAdj
from tars_jax.sandbox.computer.guest.kept import Ends
from tars_jax.sandbox.computer.guest.loop import READ, WRITE, Loop
from tars_jax.sandbox.computer.guest.roots import open_below

MOST_STATUSES = 10_000  # of ended programs, which can be asked for
MOST_OUTPUT = 2 << 20  # bytes that `run` gives back of a program's stdout, and of its stderr
LINGER_S = 0.2  # for output of a program that has ended while a child of it holds the pipe
CHUNK = 1 << 16


class Processes:
    def __init__(self, identity: Identity, loop: Loop, sacrifice: OomScoreAdj) -> None:
        self._identity, self._loop, self._sacrifice = identity, loop, sacrifice
        self._running: dict[int, list[Callable[[int], None]]] = {}
        self._statuses: dict[int, int] = {}

    def start(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, *,
        stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL, stderr: int = subprocess.DEVNULL,
    ) -> int:  # fmt: skip
        """Raises CallError for what cannot be started."""
        for text in (*argv, *env.values(), cwd):
            encodable(text)
        try:
            with self._sacrifice:
                process = subprocess.Popen(
                argv, env={**self._identity.environment, **env}, cwd=cwd or self._identity.home, stdin=stdin,
                stdout=stdout, stderr=stderr, start_new_session=True, **self._identity.of_programs(),  # type: ignore
            )  # fmt: skip
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                raise CallError.of(error, "no further process can be started") from error
            if error.filename == (cwd or self._identity.home) != argv[0]:
                raise CallError("input", f"cwd must be a folder; got {cwd!r}: {error.strerror}") from error
            what = f"argv must name a program that can be started; got {argv[0]!r}"
            raise CallError("input", f"{what}: {error.strerror}") from error
        except (ValueError, subprocess.SubprocessError) as error:
            raise CallError(
                "input", f"argv must name a program that can be started; got {argv[0]!r}: {error}"
            ) from error
        process.returncode = 0  # nobody but `reap` waits for it
        self._statuses.pop(process.pid, None)
        self._running[process.pid] = []
        return process.pid

    def reap(self) -> None:
        """Takes the status of every child that has ended, orphans that came to us among them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if (waiting := self._running.pop(pid, None)) is None:
                continue
            self._statuses[pid] = code = os.waitstatus_to_exitcode(status)
            if len(self._statuses) > MOST_STATUSES:
                del self._statuses[next(iter(self._statuses))]
            for ended in waiting:
                ended(code)

    def status(self, pid: int) -> int | None:
        """None while it runs. Raises CallError for what was never started, or ended long ago."""
        if pid in self._running:
            return None
        if pid not in self._statuses:
            raise CallError("ESRCH", f"process must be one that was started here; got {pid}")
        return self._statuses[pid]

    def on_end(self, pid: int, ended: Callable[[int], None]) -> Callable[[], None]:
        """Calls `ended` with the status; what it returns takes that back."""
        waiting = self._running[pid]
        waiting.append(ended)
        return lambda: waiting.remove(ended) if ended in waiting else None

    def kill(self, pid: int, number: int) -> None:
        """A signal to the whole group; also to what is left of one whose first process has ended."""
        if pid not in self._running:
            if pid not in self._statuses:
                return
            with contextlib.suppress(ProcessLookupError):
                with contextlib.suppress(PermissionError):
                    os.kill(pid, 0)
                return  # the number is another process's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)

    def end_all(self) -> None:
        """Every program that was started here; as the first process of a container, every process there."""
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        for pid in list(self._running):
            self.kill(pid, signal.SIGKILL)
        while os.getpid() != 1 and (children := _children()):  # what has left its group; its own children come to us
            for pid in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    # Calls of the host.

    def call_start(self, call: Call) -> None:
        call.check_read("argv", "env", "cwd", "output")
        with contextlib.ExitStack() as closing:
            sink: int = subprocess.DEVNULL
            if output := call.text("output", ""):
                sink = self._sink(output)
                closing.callback(os.close, sink)
            pid = self.start(call.words("argv"), call.texts("env"), call.text("cwd", ""), stdout=sink, stderr=sink)
        call.answer({"process": pid})

    def open_folder(self, root: str, path: str, opened: list[int]) -> int:
        """Adds the descriptor to `opened`, which the caller closes."""
        try:
            with self._identity.dropped():
                opened.append(open_below(root, path, os.O_PATH | os.O_DIRECTORY))
        except OSError as error:
            raise CallError.of(error, path) from error
        return opened[-1]

    def _sink(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        try:
            with self._identity.dropped():  # the way there may be the user's own links
                descriptor = os.open(encodable(path), flags, 0o644)
        except OSError as error:
            raise CallError(
                "input", f"output must be a file that can be written; got {path!r}: {error.strerror}"
            ) from error
        os.set_blocking(descriptor, True)
        return descriptor

    def call_wait(self, call: Call) -> None:
        call.check_read("process", "timeout_s")
        pid = call.whole("process")
        if (status := self.status(pid)) is not None:
            return call.answer({"status": status})

        def ended(code: int) -> None:
            timer.cancel()
            call.answer({"status": code})

        def late() -> None:
            forget()
            call.answer({"status": None})

        timer = self._loop.later(call.number("timeout_s", 3600.0), late)
        forget = self.on_end(pid, ended)

    def call_kill(self, call: Call) -> None:
        call.check_read("process", "signal")
        self.kill(call.whole("process", least=1), call.whole("signal", signal.SIGKILL, 0, signal.NSIG - 1))
        call.answer()

    def call_running(self, call: Call) -> None:
        """Whether any program runs here besides the guest, of whomever."""
        call.check_read()
        own = os.getpid()
        programs = len(self._running)
        if own == 1:
            programs = sum(name.isdecimal() and name != "1" for name in os.listdir("/proc"))
        call.answer({"programs": programs})

    def call_kill_all(self, call: Call) -> None:
        """Ends everything but the guest, faster than it can multiply."""
        call.check_read()
        self.end_all()
        call.answer()

    def call_run(self, call: Call) -> None:
        """Runs a program to its end, or to that of its time, and gives back what it wrote."""
        call.check_read("argv", "env", "cwd", "root", "timeout_s", "limit", "merge")
        limit = call.whole("limit", 1 << 20, 2, MOST_OUTPUT)
        Run(self, self._loop, call, limit)


class Run:
    """One program with its pipes. The bytes of the answer are stdout's two ends, then stderr's."""

    def __init__(self, processes: Processes, loop: Loop, call: Call, limit: int) -> None:
        self._processes, self._loop, self._call = processes, loop, call
        self._input = memoryview(call.data)
        self._timed_out = False
        self._status: int | None = None
        self._outputs: dict[int, Ends] = {}  # by the pipes that are open
        self._stdout, self._stderr = Ends(limit), Ends(limit)
        arguments: dict[str, Any] = {
            "argv": call.words("argv"), "env": call.texts("env"), "cwd": call.text("cwd", ""),
        }  # fmt: skip
        timeout, merge = call.number("timeout_s", 3600.0), call.flag("merge")
        ours: list[int] = []
        theirs: list[int] = []
        try:
            if root := call.text("root", ""):  # the folder must be below it
                arguments["cwd"] = f"/proc/self/fd/{processes.open_folder(root, call.text('cwd', '.'), theirs)}"
            reads, stdin = _pipe()
            theirs.insert(0, reads)
            ours.append(stdin)
            for _ in range(1 if merge else 2):
                read, write = _pipe()
                ours.append(read)
                theirs.append(write)
            stdout = theirs[-1] if merge else theirs[-2]
            self._pid = processes.start(**arguments, stdin=theirs[0], stdout=stdout, stderr=theirs[-1])
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._stdin: int | None = ours[0]
        os.set_blocking(ours[0], False)
        loop.watch(ours[0], WRITE, self._write)
        for descriptor, output in zip(ours[1:], (self._stdout, self._stderr), strict=False):
            os.set_blocking(descriptor, False)
            self._outputs[descriptor] = output
            loop.watch(descriptor, READ, lambda _, descriptor=descriptor: self._read(descriptor))  # type: ignore[misc]
        processes.on_end(self._pid, self._ended)
        self._timer = loop.later(timeout, self._late)

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
        self._close(descriptor)
        if not self._outputs and self._status is not None:
            self._finish()

    def _close(self, descriptor: int) -> None:
        self._loop.watch(descriptor, 0, self._write)
        os.close(descriptor)
        del self._outputs[descriptor]

    def _late(self) -> None:
        self._timed_out = True
        self._processes.kill(self._pid, signal.SIGKILL)

    def _ended(self, status: int) -> None:
        self._status = status
        self._timer.cancel()
        if self._outputs:
            self._timer = self._loop.later(LINGER_S, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        self._timer.cancel()
        self._close_stdin()
        for descriptor in list(self._outputs):
            self._close(descriptor)
        pieces = []
        answer: dict[str, Any] = {"status": self._status, "timed_out": self._timed_out}
        for name, output in (("stdout", self._stdout), ("stderr", self._stderr)):
            head, cut, tail = output.halves()
            answer[name] = [len(head), cut, len(tail)]
            pieces += [head, tail]
        self._call.answer(answer, b"".join(pieces))


def _pipe() -> tuple[int, int]:
    return os.pipe2(os.O_CLOEXEC)


def _children() -> list[int]:
    """Children of this process."""
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found
