"""Makes containers as root, one after another, and ends them all when the process that asked for them is gone.

    python -I -S __main__.py RUN_FOLDER LOCK      (standard input: a pipe that only the owner holds open)

LOCK is the descriptor of the folder's lock, which this process holds, too.

Reads requests, a JSON object a line: a container's plan (namespaces.py writes it), {"go": ID}, {"kill": ID},
{"forget": ID} for one whose owner has removed what it had. A plan with "criu" is a run of CRIU (criu.py); one that
restores is told as "started", with "pid", when the container's processes are back.
Writes events, such as {"event": "started", "id": ID}:
"ready" with "pid" when all is there but the program, which waits for "go" ("disk" is that process's descriptor of the
mounted disk); "started"; "failed" with "message"; "exited" with "status".
A process that stays saves each container the start of a Python.
When standard input closes, it kills what runs, and removes control groups and the folder.

An owner that may come back as another process says {"secret": TEXT} once, and {"keep": ID, "seconds": S} for each
container that is to wait for it (0: no more; an ID of none keeps the folder alone). When standard input closes, such a
container lives on for so long. Who connects to RUN_FOLDER/control within it and says {"secret": TEXT} is the owner from
then on (adoption.py).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))  # -I leaves nothing of ours on the path

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.adoption import Adoption
from tars_jax.sandbox.computer.launcher.criu import become_criu
from tars_jax.sandbox.computer.launcher.first_process import READY, become, become_command
from tars_jax.sandbox.computer.launcher.gvisor import become_gvisor
from tars_jax.sandbox.computer.launcher.privileges import bound_terminals
from tars_jax.sandbox.computer.launcher.removing import remove_tree

NAMESPACES = (
    syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWNET
)


class Launcher:
    """The containers of one owner."""

    def __init__(self, run_folder: str, lock: int) -> None:
        self._run_folder = run_folder
        self._selector = selectors.DefaultSelector()
        self._plans: dict[str, dict[str, Any]] = {}  # of all whose owner has not removed what they had
        self._running: dict[int, dict[str, Any]] = {}  # plans by the host's id of the first process
        self._results: dict[int, int] = {}  # pipes by first process, on which it says how its start went
        self._permissions: dict[str, int] = {}  # pipes by container, a byte of which lets its program begin
        self._pending = bytearray()  # of a request that has not come whole yet
        self._adoption = Adoption(Path(run_folder), lock, self._selector)

    def serve(self) -> None:
        self._selector.register(0, selectors.EVENT_READ, self._read_requests)
        while True:
            for key, _ in self._selector.select(self._adoption.wait_s):
                if key.data() is False and not self._adoption.begin_to_wait():
                    return
            if self._adoption.is_waiting and not self._go_on_without_owner():
                return

    def _go_on_without_owner(self) -> bool:
        """Whether somebody may still come, or has come."""
        busy = False
        for pid, plan in self._running.items():
            if "criu" in plan and ("restored" in plan or "layers" not in plan):  # CRIU itself, in the middle of it
                busy = True
            elif not self._adoption.keeps(plan["id"]):
                end(pid, plan)
        if not busy and self._adoption.take_owner(list(self._plans.values()), self._running):
            self._pending.clear()
            self._selector.register(0, selectors.EVENT_READ, self._read_requests)
        return self._adoption.goes_on

    def _read_requests(self) -> bool:
        try:
            data = os.read(0, 1 << 20)
        except ConnectionError:  # of an owner that came by a socket
            data = b""
        self._pending += data
        while b"\n" in self._pending:
            line, _, rest = bytes(self._pending).partition(b"\n")
            self._pending[:] = rest
            request = json.loads(line)
            if "kill" in request:
                self._kill(request["kill"])
            elif "forget" in request:
                self._plans.pop(request["forget"], None)
                self._adoption.forget(request["forget"])
            elif "secret" in request:
                self._adoption.listen(request["secret"])
            elif "end" in request:
                self._adoption.stop()
            elif "keep" in request:
                self._adoption.keep(request["keep"], request["seconds"])
            elif "go" in request:
                self._go(request["go"], request["bound"])
            else:
                self._launch(request)
        if not data:
            self._selector.unregister(0)
        return bool(data)

    def _launch(self, plan: dict[str, Any]) -> None:
        result, report = os.pipe()
        permission, give = os.pipe()
        try:
            pid = os.fork() if "command" in plan else syscalls.clone(NAMESPACES, signal.SIGCHLD)
        except OSError as error:
            for descriptor in (result, report, permission, give):
                os.close(descriptor)
            say("failed", plan, message=str(error), has_process=False)
            return
        if pid == 0:
            try:
                os.close(give)
                report = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, 200)  # out of the way of what a program inherits
                if "criu" in plan:
                    become_criu(plan, report, permission, READY)
                if "gvisor" in plan:
                    become_gvisor(plan, report, permission)
                (become_command if "command" in plan else become)(plan, report, permission)
            except BaseException as error:
                os.write(report, f"{type(error).__name__}: {error}".encode()[:4000])
            finally:
                os._exit(127)
        os.close(report)
        os.close(permission)
        self._running[pid] = self._plans[plan["id"]] = plan
        self._permissions[plan["id"]] = give
        watch = os.pidfd_open(pid)
        self._results[pid] = result
        self._selector.register(result, selectors.EVENT_READ, lambda: self._read_result(pid, plan))
        self._selector.register(watch, selectors.EVENT_READ, lambda: self._collect(watch, pid, plan))

    def _adopt(self, plan: dict[str, Any]) -> None:
        """The first process of a restored container, which CRIU made this process's child."""
        pid = int(Path(plan.pop("restored")).read_text())
        self._running[pid] = plan
        watch = os.pidfd_open(pid)
        self._selector.register(watch, selectors.EVENT_READ, lambda: self._collect(watch, pid, plan))
        say("started", plan, pid=pid)

    def _go(self, id: str, bound: int) -> None:
        """`bound`: a process of the container, where its terminals have no bound yet; 0: they have."""
        if give := self._permissions.pop(id, None):
            if bound:
                bound_terminals(bound)
            os.write(give, b"1")
            os.close(give)

    def _read_result(self, pid: int, plan: dict[str, Any]) -> None:
        if (result := self._results.get(pid)) is None:  # `_collect` was first
            return
        message = os.read(result, 4096)
        if message.startswith(READY):
            disk = int(message.removeprefix(READY))
            self._adoption.hold(plan["id"], pid, disk)
            say("ready", plan, pid=pid, disk=disk)
            return
        del self._results[pid]
        self._selector.unregister(result)
        os.close(result)
        if message:
            say("failed", plan, message=message.decode(errors="replace"), has_process=True)
        elif "restored" not in plan:  # the program runs, which closed the other end
            say("started", plan)

    def _collect(self, watch: int, pid: int, plan: dict[str, Any]) -> None:
        while pid in self._results:  # an end is told after the beginning
            self._read_result(pid, plan)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self._selector.unregister(watch)
        os.close(watch)
        del self._running[pid]
        if give := self._permissions.pop(plan["id"], None):
            os.close(give)
        if status == 0 and "restored" in plan:
            self._adopt(plan)
            return
        while left := self._stray():  # of a restore that failed
            os.waitpid(left, 0)
        self._adoption.release(plan["id"], status)
        say("exited", plan, status=status)

    def _stray(self) -> int | None:
        """A child that has ended and is no container's first process."""
        with contextlib.suppress(ChildProcessError):
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None and found.si_pid not in self._running:
                return found.si_pid
        return None

    def _kill(self, id: str) -> None:
        for pid, plan in self._running.items():
            if plan["id"] == id:
                end(pid, plan)

    def clean(self) -> None:
        """Ends all containers and removes what they had."""
        for pid, plan in self._running.items():
            end(pid, plan)
        for pid in self._running:
            os.waitpid(pid, 0)
        for plan in self._plans.values():
            for path in plan["cgroups"]:
                remove_group(os.path.dirname(path))
        remove_tree(self._run_folder)


def end(pid: int, plan: dict[str, Any]) -> None:
    """Kills the first process, and with it all others. What version 1 of control groups has frozen is let go."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for path in plan["cgroups"]:
        state = os.path.join(os.path.dirname(path), "freezer.state")
        with contextlib.suppress(OSError):
            if os.path.exists(state):
                Path(state).write_text("THAWED")


def remove_group(path: str) -> None:
    """Ends what is left in a group, such as gVisor's file server; it is busy for some milliseconds after the last."""
    for _ in range(200):
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return
        except OSError:
            with contextlib.suppress(OSError):
                for word in Path(path, "cgroup.procs").read_text().split():
                    os.kill(int(word), signal.SIGKILL)
            time.sleep(0.01)


def say(event: str, plan: dict[str, Any], **details: object) -> None:
    with contextlib.suppress(ConnectionError):
        os.write(1, json.dumps({"event": event, "id": plan["id"], **details}).encode() + b"\n")


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    launcher = Launcher(sys.argv[1], int(sys.argv[2]))
    try:
        launcher.serve()
    finally:
        launcher.clean()
