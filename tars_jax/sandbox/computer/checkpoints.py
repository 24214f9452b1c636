"""Live processes of a container in files, by CRIU, and what is needed to bring them back in a container of their own.

CRIU is the program that TARS_JAX_CRIU names, the one that launch/criu.sh has fetched, or that of the PATH. Whether it
works here is found out by trying. The mounts of a container, its network and its devices are made anew by the launcher
for each that is restored (launcher/criu.py); CRIU restores processes, terminals, pipes, sockets and memory in them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tars_jax.sandbox.computer.container import Checkpoint
from tars_jax.sandbox.computer.launching import LauncherProcess, NotStarted
from tars_jax.sandbox.failures import SandboxFailure

FETCHED = Path(__file__).parents[3] / ".cache" / "criu"
_CACHE = Path("/dev/shm")  # a file system in memory, which is where CRIU keeps what it has found out of the kernel
_COMMON = (
    "--manage-cgroups=ignore", "--ext-unix-sk", "--shell-job", "--file-locks", "--ghost-limit", "256M",
    "--tcp-established", "--network-lock", "skip", "-v2",
)  # fmt: skip
_OWN = ("/", "/proc", "/dev/pts", "/dev/shm")  # mounts that CRIU makes by itself
_PATIENCE_S = 120.0
_TRY_S = 30.0


def criu_command() -> list[str] | None:
    """The command that starts CRIU; None where there is none."""
    named = os.environ.get("TARS_JAX_CRIU") or shutil.which("criu") or ""
    root = FETCHED / "root"
    if os.environ.get("TARS_JAX_CRIU") or not (root / "usr/sbin/criu").exists():
        return [named] if named else None
    libraries = next(iter(root.glob("usr/lib/*-linux-gnu*")))
    # Not by a script: this command runs with two users at once, which a shell would not keep.
    return [
        str(next(iter(libraries.glob("ld-linux*.so.*")))),
        "--library-path",
        str(libraries),
        str(root / "usr/sbin/criu"),
    ]


def mounts_of(mountinfo: str, shown: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The mounts of a container that it does not make by itself: their places by keys, and what each is to show.

    `shown`: places and the paths of this machine that are mounted there, those of the system among them.
    """
    places: dict[str, str] = {}
    sources: dict[str, str] = {}
    for line in mountinfo.splitlines():
        fields = line.split()
        place = fields[4].encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")
        if place in _OWN:
            continue
        key = f"m{len(places)}"
        places[key] = place
        if place == "/dev":
            sources[key] = "dev"
        elif place.startswith("/proc/"):
            sources[key] = "/dev/null" if fields[3] == "/null" else "hidden"
        else:
            above = max((each for each in shown if place == each or place.startswith(f"{each}/")), key=len)
            sources[key] = shown[above] + place[len(above) :]
    return places, sources


class Criu:
    """Runs CRIU through the launcher of one owner. Root only."""

    def __init__(self, launcher: LauncherProcess, token: str, folder: Path) -> None:
        self._launcher, self._token, self._folder = launcher, token, folder
        self._command = criu_command()
        self._number = 0
        self._tried: asyncio.Task[str] | None = None

    async def why_not(self) -> str:
        """The reason why CRIU does not work here; empty where it works. Found out once."""
        if self._tried is None:
            self._tried = asyncio.create_task(self._try())
        return await asyncio.shield(self._tried)

    async def _try(self) -> str:
        if self._command is None:
            return "there is no CRIU (sudo ./launch/criu.sh fetches one)"
        try:
            cache = _cache_folder()
            if _kind(cache) != "tmpfs":
                return f"{cache} must be in memory; got {_kind(cache)}"
            seen = cache / f"works-{_mark(self._command[-1])}"  # since the machine's start
            if not seen.exists():
                await self._run({"command": [*self._command, "check"], "as_user": None, "cgroups": []}, _TRY_S)
                seen.touch()
        except (OSError, SandboxFailure) as error:
            return f"CRIU does not work here: {error}"
        return ""

    async def dump(
        self, pid: int, user: int, images: Path, places: Mapping[str, str], freezer: Path, *, keep: bool
    ) -> None:
        """Writes the processes of a frozen container to `images`; without `keep` they end. Raises SandboxFailure."""
        assert self._command is not None
        network = os.stat(f"/proc/{pid}/ns/net").st_ino
        outside = [f"net[{network}]:network", *(f"mnt[{place}]:{key}" for key, place in places.items())]
        command = [
            *self._command, "dump", "-t", str(pid), "-D", str(images), *_COMMON, "--freeze-cgroup", str(freezer),
            *(["--leave-running"] if keep else []), *(part for each in outside for part in ("--external", each)),
        ]  # fmt: skip
        await self._run({"command": command, "as_user": user, "cgroups": []}, _PATIENCE_S)

    def restore_plan(self, checkpoint: Checkpoint, folder: Path) -> dict[str, Any]:
        """Entries of the launcher's plan for a container that is restored into `folder`, besides those of a new one."""
        assert self._command is not None
        made = {"dev": f"{folder}/dev", "hidden": f"{folder}/hidden"}
        outside = [f"mnt[{key}]:{made.get(source, source)}" for key, source in checkpoint.mounts.items()]
        command = [
            *self._command, "restore", "-D", str(checkpoint.images), *_COMMON, "--restore-sibling",
            "--restore-detached", "--pidfile", str(folder / "pid"), "--root", str(folder / "root"),
            "--inherit-fd", "fd[3]:network", *(part for each in outside for part in ("--external", each)),
        ]  # fmt: skip
        return {
            "criu": True, "command": command, "as_user": None, "cache": str(_cache_folder()),
            "log": str(folder / "criu.log"), "restored": str(folder / "pid"),
        }  # fmt: skip

    async def _run(self, plan: dict[str, Any], patience_s: float) -> None:
        self._number += 1
        id, log = f"{self._token}-criu-{self._number}", self._folder / f"criu-{self._number}.log"
        events = self._launcher.new(id)
        try:
            await self._launcher.launch(
                {**plan, "criu": True, "id": id, "log": str(log), "cache": str(_cache_folder())}
            )
            async with asyncio.timeout(patience_s):
                await asyncio.shield(events.ready)
                await self._launcher.proceed(id)
                status = await asyncio.shield(events.exited)
            if status != 0:
                raise SandboxFailure("container", f"CRIU ended with {status}: {errors_of(log)}")
        except (NotStarted, TimeoutError) as error:
            raise SandboxFailure("container", f"CRIU did not end well: {error or 'it takes too long'}") from error
        finally:
            await asyncio.shield(self._launcher.end(id))
            await asyncio.shield(self._launcher.forget(id))
            log.unlink(missing_ok=True)


def errors_of(log: Path) -> str:
    """The last lines of CRIU's log that say what went wrong."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    wrong = [line.partition("Error ")[2] for line in lines if "Error " in line]
    return "; ".join(wrong[-3:] or lines[-3:])[-1000:]


def _cache_folder() -> Path:
    """This user's own. Raises OSError where it is somebody else's, or cannot be made."""
    folder = _CACHE / f"tars_jax-criu-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise OSError(f"{folder} must be a folder of this user alone; got one of user {found.st_uid}")
    return folder


def _mark(program: str) -> str:
    """Another one for each program."""
    found = os.stat(program)
    return f"{found.st_dev:x}-{found.st_ino:x}-{found.st_mtime_ns:x}"


def _kind(folder: Path) -> str:
    """Kind of the file system that a folder is in."""
    best, kind = "", ""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, after = line.split()[4], line.partition(" - ")[2].split()[0]
        if (str(folder) == place or str(folder).startswith(place.rstrip("/") + "/")) and len(place) >= len(best):
            best, kind = place, after
    return kind


async def gone(condition: Callable[[], bool], patience_s: float) -> bool:
    """Waits until a condition holds; whether it came in time."""
    clock = asyncio.get_running_loop().time
    until = clock() + patience_s
    while not condition():
        if clock() > until:
            return False
        await asyncio.sleep(0.005)
    return True
