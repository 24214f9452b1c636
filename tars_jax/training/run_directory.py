"""A run is a directory: what was asked (config.json), what ran it (environment.json), which stages are finished
(stages.json), and beside them whatever the stages keep.

One process at a time holds a run directory. The lock is the kernel's (flock), so a killed process leaves none behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.trajectory import FULL_DISK, write_atomic


class RunDirectory:
    """A locked run directory, fresh or resumed; a context manager that releases the lock.

    A run of several processes is held by the one that leads; the others `follow`. `own` is where a process keeps what
    is its alone, metrics and timeline: the run itself, or for a follower RUN/processes/NUMBER.
    """

    def __init__(self, path: pathlib.Path, lock: int, *, resumed: bool, own: pathlib.Path | None = None) -> None:
        self.path = path
        self.resumed = resumed
        self.leads = own is None
        self.own = path if own is None else own
        self._lock = lock
        self._stages: dict[str, dict[str, Any]] = read_object(self._ledger) if self._ledger.exists() else {}

    @classmethod
    def create(cls, path: str | os.PathLike[str], config: Mapping[str, Any], experiment: str) -> Self:
        """Make the run directory `path`, or open the one that is there to resume it.

        `config` is plain nested data that JSON can hold; its field `run`, the place, is no part of what is compared or
        stored. Raises InputError if another process holds the directory, if it is no run directory or cannot be made,
        or if its config is another one; OSError if the disk refuses.
        """
        folder = pathlib.Path(path)
        try:
            lock = cls._claim(folder)
        except OSError as error:
            if error.errno in FULL_DISK:
                raise
            raise InputError(
                f"config.run got {str(path)!r}, which cannot be made or written ({error.strerror}); it takes a "
                "directory that can."
            ) from error
        try:
            return cls._open(folder, lock, {**config, "run": ""}, experiment)
        except BaseException:
            os.close(lock)
            raise

    @staticmethod
    def _claim(folder: pathlib.Path) -> int:
        """The lock of a folder that is there, or made now, and in which nothing else lies."""
        if folder.exists() and not folder.is_dir():
            raise InputError(f"config.run got {str(folder)!r}, which is a file; it takes a directory.")
        if folder.is_dir() and not (folder / "config.json").exists():
            strangers = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
            if strangers:
                raise InputError(
                    f"config.run got {str(folder)!r}, which holds {sorted(strangers)[0]!r} and no config.json; "
                    "it takes a run directory, an empty one or a new name."
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
    def _open(cls, folder: pathlib.Path, lock: int, config: dict[str, Any], experiment: str) -> Self:
        asked = json.loads(json.dumps({"experiment": experiment, "config": config}))
        resumed = (folder / "config.json").exists()
        starts = []
        for leftover in folder.rglob(".*.partial"):  # of a write that was killed
            leftover.unlink()
        if resumed:
            _require_same(folder / "config.json", read_object(folder / "config.json", "experiment", "config"), asked)
            if (folder / "environment.json").exists():
                starts = read_object(folder / "environment.json", "starts")["starts"]
        else:
            write_json(folder / "config.json", asked)
        starts.append({"seed": config.get("seed"), **environment()})
        write_json(folder / "environment.json", {"starts": starts})
        return cls(folder, lock, resumed=resumed)

    def finished(self, stage: str) -> dict[str, Any] | None:
        """The result of a finished stage; None while it is to do."""
        return self._stages.get(stage)

    def results(self) -> dict[str, dict[str, Any]]:
        """The results of all finished stages, in the order in which they finished."""
        return dict(self._stages)

    def finish(self, stage: str, result: Mapping[str, Any]) -> None:
        """Record that `stage` is finished. What the stage keeps must be on disk before."""
        stages = {**self._stages, stage: dict(result)}
        if self.leads:
            write_json(self._ledger, stages)
        self._stages = stages

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


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value in a JSON file; raises InputError that names the file if it is missing, cut short or no JSON."""
    try:
        return json.loads(pathlib.Path(path).read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; a JSON file is needed there.") from error
    except (ValueError, RecursionError) as error:  # json.JSONDecodeError, or bytes that are no UTF-8; and depth
        raise InputError(f"{path} is cut short or not JSON ({error}); it takes a whole JSON file.") from error


def read_object(path: str | os.PathLike[str], *fields: str) -> dict[str, Any]:
    """The JSON object in a file, as `read_json`; raises InputError also if it is no object or lacks one of `fields`."""
    value = read_json(path)
    for field in fields:
        if not isinstance(value, dict) or field not in value:
            raise InputError(f"{path} lacks the field {field}; it takes an object with {', '.join(fields)}.")
    if not isinstance(value, dict):
        raise InputError(f"{path} holds {type(value).__name__}; it takes a JSON object.")
    return value


def environment() -> dict[str, Any]:
    """What runs here: code version with the changes made to it, packages, interpreter, machine."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": sys.argv,
        "code": _code_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _processor(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "packages": {
            package.metadata["Name"]: package.version
            for package in sorted(
                importlib.metadata.distributions(), key=lambda package: package.metadata["Name"].lower()
            )
        },
    }


def _code_version() -> dict[str, Any]:
    """The commit, whether tracked files differ from it, and how, as a patch; None for all outside a git checkout.

    The patch is taken when a run starts: later the working tree is another one.
    """
    here = pathlib.Path(__file__).parent
    try:
        commit, changes, patch = (
            subprocess.run(["git", *command], cwd=here, capture_output=True, text=True, check=True).stdout
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
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
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
            f"config.run got {str(folder)!r}, which process {holder} is using; it takes one that no other run holds."
        ) from None
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _require_same(path: pathlib.Path, stored: Any, asked: dict[str, Any]) -> None:
    before, now = dict(_leaves(stored)), dict(_leaves(asked))
    for field in [*before, *now]:
        if field not in before or field not in now or before[field] != now[field]:
            raise InputError(
                f"{field} got {now.get(field, 'nothing')!r}, and {path} has {before.get(field, 'nothing')!r}; "
                f"a resumed run takes the config that it began with: --config={path} --config.run={path.parent}"
            )


def _leaves(tree: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if not isinstance(tree, dict):
        return [(prefix, tree)]
    return [leaf for name, node in tree.items() for leaf in _leaves(node, f"{prefix}.{name}" if prefix else name)]
