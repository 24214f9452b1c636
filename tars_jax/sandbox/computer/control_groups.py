"""Limits of memory, processes and processor time for a whole container, by control groups of either version.

Each hierarchy of this machine that counts something of use gets a group below this process's own, or, where version 2
allows none there (a group has processes or groups, not both), below the next one up.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tars_jax.sandbox.computer.spec import ContainerSpec

PREFIX = "tars_jax-"
USED = ("memory", "pids", "cpu", "freezer")
_PATIENCE_S = 2.0


@dataclasses.dataclass(frozen=True)
class Hierarchy:
    """A place where groups can be made."""

    version: int
    controllers: frozenset[str]  # of USED; version 2 freezes without one
    parent: Path


@functools.cache
def hierarchies() -> tuple[Hierarchy, ...]:
    """Hierarchies in which this process can make groups; none for most ordinary users. Found by trying, once a
    process."""
    own: dict[frozenset[str], str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, listed, path = line.split(":", 2)
        own[frozenset(listed.split(",")) if listed else frozenset(("2",))] = path
    found: list[Hierarchy] = []
    taken: set[str] = set()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(), after.split()[:3]
        if kind not in ("cgroup", "cgroup2"):
            continue
        names = frozenset(("2",)) if kind == "cgroup2" else frozenset(options.split(",")) & set(USED)
        for mine, path in own.items():
            if names & mine and not names & taken:
                inside = path.removeprefix(fields[3].rstrip("/")).strip("/")
                hierarchy = _try(2 if kind == "cgroup2" else 1, names, Path(fields[4]), inside)
                if hierarchy is not None:
                    found.append(hierarchy)
                    taken |= names
    return tuple(found)


def _try(version: int, names: frozenset[str], top: Path, inside: str) -> Hierarchy | None:
    if version == 1:
        return Hierarchy(1, names, top / inside) if _can_make(top / inside) else None
    best: Hierarchy | None = None
    for place in (top / inside, *(top / inside).parents):
        for name in USED:
            with contextlib.suppress(OSError):
                (place / "cgroup.subtree_control").write_text(f"+{name}")
        with contextlib.suppress(OSError):
            given = frozenset((place / "cgroup.subtree_control").read_text().split()) & set(USED)
            if _can_make(place) and (best is None or len(given) > len(best.controllers)):
                best = Hierarchy(2, given, place)
        if place == top:
            return best
    return best


def _can_make(parent: Path) -> bool:
    trial = parent / f"{PREFIX}trial-{os.getpid()}"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError:
        return False
    return True


class ControlGroup:
    """The groups of one container, one in each hierarchy."""

    def __init__(self, name: str, spec: ContainerSpec) -> None:
        """Raises OSError when a group cannot be made."""
        self.limited: set[str] = set()  # of USED, what is bounded here
        self._folders: list[tuple[Hierarchy, Path]] = []
        try:
            for hierarchy in hierarchies():
                folder = hierarchy.parent / f"{PREFIX}{name}"
                folder.mkdir()
                self._folders.append((hierarchy, folder))
                self._limit(hierarchy, folder, spec)
        except BaseException:
            self.remove()
            raise

    def _limit(self, hierarchy: Hierarchy, folder: Path, spec: ContainerSpec) -> None:
        memory, pids = spec.memory_mib << 20, spec.processes
        values = [("memory", "memory.max", memory), ("pids", "pids.max", pids)]
        if hierarchy.version == 1:
            values[0] = ("memory", "memory.limit_in_bytes", memory)
        for controller, file, value in values:
            if controller in hierarchy.controllers:
                (folder / file).write_text(str(value))
                self.limited.add(controller)
        # Version 2 counts buffers of sockets with all other memory, version 1 apart, and only where there is a limit.
        for file, value in (
            ("memory.memsw.limit_in_bytes", memory), ("memory.swap.max", 0), ("memory.kmem.tcp.limit_in_bytes", memory)
        ):  # fmt: skip
            with contextlib.suppress(OSError):  # where that is not counted
                if "memory" in hierarchy.controllers and (folder / file).exists():
                    (folder / file).write_text(str(value))
        if "cpu" in hierarchy.controllers and spec.cpus is not None:
            quota = int(100_000 * spec.cpus)
            if hierarchy.version == 1:
                (folder / "cpu.cfs_quota_us").write_text(str(quota))
            else:
                (folder / "cpu.max").write_text(f"{quota} 100000")
            self.limited.add("cpu")

    @classmethod
    def adopted(cls, entrances: Sequence[str]) -> ControlGroup:
        """The groups that another process has made, by what their `entrances` were there."""
        group = cls.__new__(cls)
        group.limited, group._folders = set(), []
        for folder in (Path(entrance).parent for entrance in entrances):
            version = 2 if (folder / "cgroup.events").exists() else 1
            has = frozenset(name for name in USED if any(folder.glob(f"{name}.max" if version == 2 else f"{name}.*")))
            group._folders.append((Hierarchy(version, has, folder.parent), folder))
        return group

    @property
    def is_frozen(self) -> bool:
        version, folder = self._freezer() or (0, Path())
        return bool(version) and self._is(True, version, folder)

    @property
    def entrances(self) -> list[str]:
        """The files that take a process in."""
        return [str(folder / "cgroup.procs") for _, folder in self._folders]

    def memory_bytes(self) -> int | None:
        """Memory of its processes now; None where nobody counts."""
        for hierarchy, folder in self._folders:
            if "memory" in hierarchy.controllers:
                name = "memory.current" if hierarchy.version == 2 else "memory.usage_in_bytes"
                return int((folder / name).read_text())
        return None

    @property
    def can_freeze(self) -> bool:
        return self._freezer() is not None

    def _freezer(self) -> tuple[int, Path] | None:
        """Version 2 before version 1, in which a frozen process cannot be killed."""
        for version in (2, 1):
            for hierarchy, folder in self._folders:
                if hierarchy.version == version and (version == 2 or "freezer" in hierarchy.controllers):
                    return version, folder
        return None

    def freezer_folder(self) -> Path:
        """Raises OSError where nothing here freezes."""
        if (freezer := self._freezer()) is None:
            raise OSError("no control group of this machine can stop processes")
        return freezer[1]

    def freeze(self, frozen: bool) -> None:
        """Stops all processes at once, or lets them go on. Raises OSError, TimeoutError after some seconds."""
        version, folder = self._freezer() or (0, Path())
        if version == 2:
            (folder / "cgroup.freeze").write_text("1" if frozen else "0")
        else:
            (folder / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
        until = time.monotonic() + _PATIENCE_S
        while not self._is(frozen, version, folder):
            if time.monotonic() > until:
                raise TimeoutError(f"the processes of {folder.name} did not {'stop' if frozen else 'go on'}")
            time.sleep(0.0005)

    @staticmethod
    def _is(frozen: bool, version: int, folder: Path) -> bool:
        if version == 2:
            return f"frozen {int(frozen)}" in (folder / "cgroup.events").read_text()
        return (folder / "freezer.state").read_text().strip() == ("FROZEN" if frozen else "THAWED")

    def remove(self) -> None:
        """Ends what is left in the groups and removes them."""
        for _, folder in self._folders:
            _remove(folder)
        self._folders.clear()


def remove_groups(token: str) -> None:
    """Ends and removes all groups whose name begins with `token`."""
    for hierarchy in hierarchies():
        for folder in hierarchy.parent.glob(f"{PREFIX}{token}-*"):
            _remove(folder)


def _remove(folder: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return
        with contextlib.suppress(OSError):
            if (folder / "freezer.state").exists():
                (folder / "freezer.state").write_text("THAWED")
        for pid in _members(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _members(folder: Path) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for line in (folder / "cgroup.procs").read_text().split():
            if line != "0":  # of another namespace, which this process cannot name
                yield int(line)
