"""Programs that the guest starts: each in a process group of its own; every child that ends is reaped."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence

from tars_jax.sandbox.computer.guest.calls import Call, CallError, encodable
from tars_jax.sandbox.computer.guest.identity import Identity, OomScoreAdj
from tars_jax.sandbox.computer.guest.loop import Loop
from tars_jax.sandbox.computer.guest.roots import open_below

MOST_STATUSES = 10_000  # of ended programs, which can be asked for
NO_PROGRAM = "must name a program that can be started"


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
            raise CallError("input", f"argv {NO_PROGRAM}; got {argv[0]!r}: {error.strerror}") from error
        except (ValueError, subprocess.SubprocessError) as error:
            raise CallError("input", f"argv {NO_PROGRAM}; got {argv[0]!r}: {error}") from error
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


def _children() -> list[int]:
    """Children of this process."""
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found
