"""A run is a directory: what was asked (config.json), what ran it (environment.json), which stages are finished
(stages.json), and beside them whatever the stages keep.

One process at a time holds a run directory. The lock is the kernel's (flock), so a killed process leaves none behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

from tars_jax import InputError
from tars_jax.files import FULL_DISK, write_atomic
from tars_jax.json_fields import read_object

# Where else metrics are shown changes nothing of a run: it may be resumed with others.
_NOT_COMPARED = ("loggers",)
# What a run opens as it starts. Nothing is lost with it where nothing else was kept.
_OPENED = ("config.json", "environment.json", ".lock", "tensorboard", "wandb", "mlruns", "timeline.json", "report.html")
EXTENDED = "extended.json"  # stage -> what it had recorded before the run was extended


class RunDirectory:
    """A locked run directory, fresh or resumed; a context manager that releases the lock.

    A run of several processes is held by the one that leads; the others `follow`. `own` is where a process keeps what
    is its alone, metrics and timeline: the run itself, or for a follower RUN/processes/NUMBER.
    """

    def __init__(
        self,
        path: pathlib.Path,
        lock: int,
        *,
        resumed: bool,
        own: pathlib.Path | None = None,
        made: Sequence[pathlib.Path] = (),
    ) -> None:
        self.path = path
        self.resumed = resumed
        self.is_main_process = own is None
        self.own = path if own is None else own
        self._lock = lock
        self._made = tuple(made)  # the folders that this process has made, the innermost first
        self._stages: dict[str, dict[str, Any]] = read_object(self._ledger) if self._ledger.exists() else {}

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        config: Mapping[str, Any],
        experiment: str,
        extensions: Mapping[str, Extension] | None = None,
        renewed: Collection[str] = (),
    ) -> Self:
        """Make the run directory `path`, or open the one that is there to resume it.

        `config` is plain nested data that JSON can hold; its field `run`, the place, is no part of what is compared or
        stored. A field of `extensions` may be larger than the one that the run had: then the run goes on. Fields that
        are `renewed` are taken as they are asked for now. Raises
        InputError if another process holds the directory, if it is no run directory or cannot be made, or if its
        config is another one; OSError if the disk refuses.
        """
        folder = pathlib.Path(path)
        try:
            made = [each for each in (folder, *folder.parents) if not each.exists()]
            lock = cls._claim(folder)
        except OSError as error:
            if error.errno in FULL_DISK:
                raise
            raise InputError(
                f"config.run must be a directory that can be made and written; got {str(path)!r}: {error.strerror}"
            ) from error
        try:
            return cls._open(folder, lock, {**config, "run": ""}, experiment, extensions or {}, renewed, made)
        except BaseException:
            os.close(lock)
            raise

    @staticmethod
    def _claim(folder: pathlib.Path) -> int:
        """Takes the lock of a folder that is there and empty, or is made now."""
        if folder.exists() and not folder.is_dir():
            raise InputError(f"config.run must be a directory; got {str(folder)!r}, which is a file")
        if folder.is_dir() and not (folder / "config.json").exists():
            strangers = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
            if strangers:
                raise InputError(
                    "config.run must be a run directory, an empty one or a new name; "
                    f"got {str(folder)!r}, which holds {sorted(strangers)[0]!r} and no config.json"
                )
        folder.mkdir(parents=True, exist_ok=True)
        return _lock(folder)

    @classmethod
    def follow(cls, path: str | os.PathLike[str], number: int) -> Self:
        """The run directory that the leader has made, for process `number`, which records nothing in it itself."""
        folder = pathlib.Path(path)
        own = folder / "processes" / f"{number:04d}"
        own.mkdir(parents=True, exist_ok=True)
        return cls(folder, -1, resumed=(folder / "stages.json").exists(), own=own)

    @classmethod
    def _open(
        cls,
        folder: pathlib.Path,
        lock: int,
        config: dict[str, Any],
        experiment: str,
        extensions: Mapping[str, Extension],
        renewed: Collection[str],
        made: Sequence[pathlib.Path],
    ) -> Self:
        asked = json.loads(json.dumps({"experiment": experiment, "config": config}))
        resumed = (folder / "config.json").exists()
        starts = []
        for leftover in folder.rglob(".*.partial"):  # of a write that was killed
            leftover.unlink()
        if resumed:
            asked = _with_what_was_chosen(asked, read_object(folder / "config.json", "experiment", "config"))
            _extend(folder, asked, extensions)
            stored = read_object(folder / "config.json", "experiment", "config")
            _require_same(folder / "config.json", stored, asked, renewed)
            if renewed and stored != asked:
                write_json(folder / "config.json", asked)
            if (folder / "environment.json").exists():
                starts = read_object(folder / "environment.json", "starts")["starts"]
        else:
            write_json(folder / "config.json", asked)
        starts.append({"seed": config.get("seed"), **environment()})
        write_json(folder / "environment.json", {"starts": starts})
        return cls(folder, lock, resumed=resumed, made=made)

    @property
    def config(self) -> dict[str, Any]:
        """The config of config.json: what was asked, and what was chosen since for the fields that were None."""
        config: dict[str, Any] = read_object(self.path / "config.json", "config")["config"]
        return config

    def choose(self, config: Mapping[str, Any]) -> None:
        """Writes the config in which the fields that were None have values; a run that is resumed keeps them."""
        if self.is_main_process:
            stored = read_object(self.path / "config.json")
            write_json(self.path / "config.json", {**stored, "config": {**config, "run": ""}})

    def finished(self, stage: str) -> dict[str, Any] | None:
        """The result of a finished stage; None while it is to do."""
        return self._stages.get(stage)

    def results(self) -> dict[str, dict[str, Any]]:
        """The results of all finished stages, in the order in which they finished."""
        return dict(self._stages)

    def finish(self, stage: str, result: Mapping[str, Any]) -> None:
        """Record that `stage` is finished. What the stage keeps must be on disk before."""
        stages = {**self._stages, stage: dict(result)}
        if self.is_main_process:
            write_json(self._ledger, stages)
        self._stages = stages

    def earlier(self, stage: str) -> dict[str, Any]:
        """The record of a stage from before the run was extended; empty where it was not."""
        file = self.path / EXTENDED
        found: dict[str, Any] = read_object(file).get(stage, {}) if file.exists() else {}
        return found

    def withdraw(self) -> None:
        """Removes a fresh directory in which nothing was kept: of a run that was refused."""
        if self.resumed or not self.is_main_process or self._stages:
            return
        files = [file for file in self.path.rglob("*") if not file.is_dir()]
        if any(file.relative_to(self.path).parts[0] not in _OPENED and file.stat().st_size for file in files):
            return
        for entry in [entry for entry in self.path.iterdir() if entry.name in _OPENED or not _holds_files(entry)]:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for folder in self._made:
            with contextlib.suppress(OSError):  # others have put something there
                folder.rmdir()

    def close(self) -> None:
        """Release the directory; idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _ledger(self) -> pathlib.Path:
        return self.path / "stages.json"


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Replace the file at `path`, whole or not at all; raises as `write_atomic` does."""
    write_atomic(path, (json.dumps(value, indent=2) + "\n").encode())


def environment() -> dict[str, Any]:
    """The environment of this run: code version with its local changes, packages, interpreter, machine."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": sys.argv,
        "code": _code_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _processor(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "packages": {**_packages()},
    }


@functools.cache
def _packages() -> dict[str, str]:
    """Versions of packages by name. Read once: there are hundreds of files."""
    each = (package.metadata for package in importlib.metadata.distributions())
    return dict(sorted(((one["Name"], one["Version"]) for one in each), key=lambda named: named[0].lower()))


def _code_version() -> dict[str, Any]:
    """The commit, whether tracked files differ from it, and how, as a patch; None for all outside a git checkout.

    The patch is taken when a run starts: later the working tree is another one.
    """
    here = pathlib.Path(__file__).parent
    try:
        commit, changes, patch = (
            # A file that differs may be in any encoding, and the patch gives its bytes back.
            subprocess.run(
                ["git", *command], cwd=here, capture_output=True, encoding="utf-8", errors="surrogateescape", check=True
            ).stdout
            for command in (
                ["rev-parse", "HEAD"],
                ["status", "--porcelain", "--untracked-files=no"],
                ["diff", "--binary", "--no-color", "--no-ext-diff", "HEAD"],
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None, "patch": None}
    return {"commit": commit.strip(), "dirty": bool(changes), "patch": patch}


def _processor() -> str:
    """The processor's name where the system tells it, else its architecture."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _lock(folder: pathlib.Path) -> int:
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode().strip()
        os.close(descriptor)
        raise InputError(
            f"config.run must be a directory that no other run uses; got {str(folder)!r}, which process {holder} uses"
        ) from None
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _require_same(path: pathlib.Path, stored: Any, asked: dict[str, Any], renewed: Collection[str]) -> None:
    before, now = dict(_leaves(stored)), dict(_leaves(asked))
    for field in [*before, *now]:
        if field.removeprefix("config.") in (*_NOT_COMPARED, *renewed):
            continue
        if field not in before or field not in now or before[field] != now[field]:
            raise InputError(
                f"{field} must be {before.get(field, 'nothing')!r} as in {path}, with which this run began "
                f"(--config={path} --config.run={path.parent} resumes it); got {now.get(field, 'nothing')!r}"
            )


def _with_what_was_chosen(asked: Any, stored: Any) -> Any:
    """`asked`, whose fields that are None take what the run has."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        return {name: _with_what_was_chosen(value, stored.get(name)) for name, value in asked.items()}
    return stored if asked is None else asked


def _extend(folder: pathlib.Path, asked: dict[str, Any], extensions: Mapping[str, Extension]) -> None:
    """Makes the run in `folder` one that asks for more, where that is all in which `asked` differs."""
    stored = read_object(folder / "config.json", "experiment", "config")
    configs = (_leaves(record.get("config")) for record in (stored, asked))
    before, now = ({field: value for field, value in each if field not in _NOT_COMPARED} for each in configs)
    grown = grown_fields(before, now, extensions)
    if not grown or {**before, **{field: now[field] for field in grown}} != now:
        return
    ledger = folder / "stages.json"
    stages = read_object(ledger) if ledger.exists() else {}
    kept = read_object(folder / EXTENDED) if (folder / EXTENDED).exists() else {}
    write_json(folder / EXTENDED, {**kept, **stages})
    for field, value in grown.items():
        stages = set_aside(folder, stages, extensions[field], value)
    write_json(ledger, stages)
    write_json(folder / "config.json", asked)


def _holds_files(path: pathlib.Path) -> bool:
    return any(not file.is_dir() and file.stat().st_size for file in (path, *path.rglob("*")))


def _leaves(tree: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if not isinstance(tree, dict):
        return [(prefix, tree)]
    return [leaf for name, node in tree.items() for leaf in _leaves(node, f"{prefix}.{name}" if prefix else name)]


@dataclasses.dataclass(frozen=True)
class Extension:
    """The stage to which a field that may grow belongs."""

    stage: str  # goes on from its last checkpoint
    again: tuple[str, ...] = ()  # done again after it


def grown_fields(
    stored: Mapping[str, Any], asked: Mapping[str, Any], extensions: Mapping[str, Extension]
) -> dict[str, int]:
    """The fields that may grow and do, with the values that the run had. Both configs map dotted fields to values."""
    values = {field: (stored.get(field), asked.get(field)) for field in extensions}
    return {
        field: before
        for field, (before, now) in values.items()
        if type(before) is int and type(now) is int and now > before
    }


def set_aside(folder: pathlib.Path, stages: Mapping[str, Any], extension: Extension, value: int) -> dict[str, Any]:
    """The records of stages that stay; moves away what is to be done again. `value` is the one that the field had."""
    for stage in extension.again:
        played, kept = (folder / "trajectories" / name for name in (stage, f"{stage}-{value}"))
        if stage in stages and played.is_dir() and not kept.exists():
            played.rename(kept)
    return {name: record for name, record in stages.items() if name not in (extension.stage, *extension.again)}
