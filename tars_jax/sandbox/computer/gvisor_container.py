"""A container of gVisor's, as the host handles it, and the program runsc that speaks to it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import signal
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tars_jax.sandbox.computer.contained_guest import guest_python
from tars_jax.sandbox.computer.container import Checkpoint
from tars_jax.sandbox.computer.control_groups import ControlGroup
from tars_jax.sandbox.computer.namespace_container import NamespaceContainer, RunsContainers, size_of
from tars_jax.sandbox.computer.processes import Process
from tars_jax.sandbox.computer.reverse_listener import ReverseListener
from tars_jax.sandbox.computer.root import not_sought
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Sought, Unreadable
from tars_jax.sandbox.failures import SandboxFailure

_PATIENCE_S = 120.0
_LOOK_S = 30.0
# No network but loopback; files of the root as this machine has them at each moment, those of the system, which do not
# change, kept by gVisor; of this machine's sockets, those in the root may be connected to.
_SETTINGS = (
    "--network=none", "--platform=systrap", "--overlay2=none", "--file-access=shared", "--file-access-mounts=exclusive",
    "--host-uds=open", "--ignore-cgroups", "--log-format=json",
)  # fmt: skip


class Runsc:
    """gVisor's program, and the folder in which it keeps what it knows of this owner's sandboxes."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder

    def command(self, *words: str, log: Path) -> list[str]:
        return [self._program, f"--root={self._folder}", f"--log={log}", *_SETTINGS, *words]

    def run(self, *words: str, log: Path, timeout_s: float = _PATIENCE_S) -> bytes:
        """Runs runsc and returns its output. Raises SandboxFailure."""
        command = self.command(*words, log=log)
        try:
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True
            ).stdout  # fmt: skip
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()[:1]
            raise SandboxFailure("container", f"gVisor did not {words[0]}: {' '.join(said)[:500]}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SandboxFailure("container", f"gVisor did not {words[0]}: {error}") from error

    def is_running(self, id: str) -> bool:
        try:
            return json.loads((self._folder / f"{id}_sandbox:{id}.state").read_text())["status"] == "running"
        except (OSError, ValueError, KeyError):  # not there, or not whole yet
            return False

    @staticmethod
    def errors(log: Path) -> str:
        """runsc's words on why it gave up; empty where it did not."""
        try:
            lines = [json.loads(line) for line in log.read_text(errors="replace").splitlines()]
        except (OSError, ValueError):
            return ""
        return "; ".join(line["msg"] for line in lines if line.get("level") in ("error", "fatal"))[-1000:]

    def forget(self, id: str) -> None:
        for left in (*self._folder.glob(f"{id}_sandbox:*"), self._folder / f"runsc-{id}.sock"):
            left.unlink(missing_ok=True)


class GvisorContainer(NamespaceContainer):
    """A container of this kind. Its `pid` is runsc's, whose end is the sandbox's."""

    def __init__(
        self, isolation: RunsContainers, id: str, spec: ContainerSpec, folder: Path, group: ControlGroup, pid: int,
        descriptors: list[int], plan: dict[str, Any], listener: ReverseListener | None, runsc: Runsc,
    ) -> None:  # fmt: skip
        super().__init__(isolation, id, spec, folder, group, pid, descriptors, plan)
        self._listener, self._runsc = listener, runsc

    def host_path(self, path: str) -> Path:
        """Without what only gVisor has: /dev, /proc, the folders of the system, sockets of programs inside."""
        return Path(f"/proc/{self.pid}/root{self._folder}/root{path}")

    async def connect(self, path: str) -> Any:
        raise OSError(f"{path} is a socket of gVisor's, which its guest alone can reach")

    async def dial(self) -> Any:
        if self._listener is None or self._closed:
            raise ConnectionError(f"{self.id} has no guest")
        dialing, ending = asyncio.create_task(self._listener.dial()), asyncio.create_task(self.wait())
        try:
            await asyncio.wait((dialing, ending), return_when=asyncio.FIRST_COMPLETED)
            if dialing.done():
                return dialing.result()
            raise ConnectionError("it has ended")
        finally:
            dialing.cancel()
            ending.cancel()

    async def wait(self, timeout_s: float | None = None) -> int | None:
        status = await super().wait(timeout_s)
        return 128 - status if status is not None and 128 < status <= 128 + signal.NSIG else status  # runsc says it so

    def _run(self, *words: str, timeout_s: float = _PATIENCE_S) -> bytes:
        return self._runsc.run(*words, log=self._folder / "command.log", timeout_s=timeout_s)

    def processes(self) -> list[Process]:
        return [Process(**{**each, "argv": tuple(each["argv"])}) for each in self._look()["processes"]]

    def ports(self) -> frozenset[int]:
        return frozenset(self._look()["ports"])

    def _look(self) -> dict[str, Any]:
        if self._closed or self._isolation.events(self.id).exited.done():
            return {"processes": [], "ports": []}
        return self._told("processes.py")

    readable_when_paused = False  # some of its files gVisor has in its own memory

    def find(self, seeking: Collection[Sought]) -> list[str]:
        wanted = json.dumps([dataclasses.asdict(each) for each in seeking])
        told = self._told("walking.py", wanted, json.dumps(not_sought(self.spec)))
        if "unreadable" in told:
            raise Unreadable(told["unreadable"])
        return [f"/{path}" for path in told["found"]]

    def _told(self, module: str, *arguments: str) -> dict[str, Any]:
        """Asked of gVisor's kernel by a program of the system's that runs as root inside, where the agent cannot."""
        script = Path(__file__).with_name(module).read_text()
        look = [guest_python()[0], "-I", "-S", "-c", f"{script}\nimport sys\ntell(*sys.argv[1:])", *arguments]
        rights = ("--user=0:0", "--cap=CAP_SYS_PTRACE", "--cap=CAP_DAC_READ_SEARCH")
        return json.loads(self._run("exec", *rights, self.id, *look, timeout_s=_LOOK_S))

    async def checkpoint(self, name: str) -> Checkpoint:
        images = self._isolation.images()
        was_paused = self._paused
        try:
            await self.resume()
            await self._without_streams()
            await asyncio.to_thread(self._run, "pause", self.id)
            try:
                await asyncio.to_thread(self._run, *self._save(images), "--leave-running", self.id)
                await self.pause()
                snapshot = await self._copied(name)
            finally:
                await self.resume()
                await asyncio.to_thread(self._run, "resume", self.id)
        except BaseException:
            shutil.rmtree(images, ignore_errors=True)
            raise
        finally:
            if not self._closed:
                if self._listener is not None:
                    self._listener.open()
                if was_paused:
                    await self.pause()
        return Checkpoint(snapshot, images, {}, size_of(images))

    @staticmethod
    def _save(images: Path) -> tuple[str, ...]:
        return "checkpoint", "--compression", "none", "--image-path", str(images)

    async def _without_streams(self) -> None:
        """A connection of the guest's to this machine would not be saved."""
        if self._listener is not None:
            await self._listener.shut()

    async def _dump(self, images: Path, *, keep: bool) -> dict[str, str]:
        """For `suspend`, which has paused it."""
        await self.resume()
        await self._without_streams()
        try:
            await asyncio.to_thread(self._run, *self._save(images), self.id)
        except BaseException:
            if self._listener is not None:
                self._listener.open()
            raise
        return {}

    async def close_files(self) -> None:
        if self._listener is not None:
            await self._listener.close()
        await super().close_files()
