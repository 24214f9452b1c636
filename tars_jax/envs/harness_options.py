"""Options of a harness (`environment_options`): its command, where it runs, its tasks, and where its reward is."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields
from tars_jax.sandbox.computer.home import MOST_BYTES, File
from tars_jax.sandbox.computer.spec import MIB, PROCESSES, ContainerSpec
from tars_jax.tasks.prompts import RowSplit, Sides
from tars_jax.tasks.prompts.record_files import RECORD_FILES, records_of
from tars_jax.tasks.splits import EVAL, split_of, without_split

FILE, HTTP, EXIT_CODE = REWARDS = ("file", "http", "exit_code")
BESIDE = "none"  # the isolation of a harness that runs on this machine as it is
OPTIONS = (
    "command", "reward", "reward_file", "without_reward", "success_reward", "time_limit", "answers", "isolation",
    "files", "binds", "venv", "environment", "memory_mib", "processes", "disk_mib", "reference",
    "data", "evaluation_data", "held_out", "seed", "shuffle",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class HarnessOptions:
    """Read by `read_options`, which says what each of them is."""

    command: tuple[str, ...]
    reward: str = FILE
    reward_file: str = "reward"
    without_reward: float | None = None
    success_reward: float = 1.0
    time_limit: float = 600.0
    answers: int = 64
    isolation: str = "auto"
    files: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    container: ContainerSpec = dataclasses.field(default_factory=ContainerSpec)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reference: str = ""

    def given_files(self) -> dict[str, File]:
        """Files in the home folder when the command starts. Raises InputError for more than a home takes."""
        self.check_files()
        return {
            place: File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for inside, host in self.files.items()
            for place, path in _files_of(inside, host)
        }

    def check_files(self) -> None:
        """Without reading them. Raises InputError for more than a home takes."""
        size = sum(path.stat().st_size for inside, host in self.files.items() for _, path in _files_of(inside, host))
        if size > MOST_BYTES:
            raise InputError(
                f"option files must be of {MOST_BYTES >> 20} MiB at most, larger ones are for binds; got {size >> 20}"
            )


def read_options(options: Mapping[str, Any]) -> tuple[HarnessOptions, TaskRows | None]:
    """The options of the environment `harness`, and its tasks where a file holds them:

    command: the program and its arguments, or one text for bash. It runs in a home folder of its own.
    reward: where its reward comes from: `file`, which it writes to $REWARD_FILE, a number or an object {"reward": .5,
      "success": false}; `http`, POST $REWARD_URL of that object with its key; `exit_code`, 1 for 0 and 0 for others.
    reward_file: the file's path below the home folder.
    without_reward: of an episode whose program ended, or was ended, without saying one; null: such an episode is lost.
    success_reward: the least reward of a success, where the program says nothing of success.
    time_limit: seconds of an episode. answers: that it may ask for in an episode; further requests are refused.
    isolation: of the computer that it runs in, as `computer` has it; none: beside us, on this machine as it is.
    files: what is copied into its home folder: paths there, each with a file or a folder of this machine.
    venv: a Python environment of this machine, whose programs are found first. It is one of the binds.
    binds: what else it may read: a list of paths of this machine, or an object, paths inside to paths of this machine.
    environment: variables of its own. memory_mib, processes, disk_mib: of its computer.
    reference: package.module:function, (messages, rng, skill) -> the text of an answer, which shows how it is done.
    data, evaluation_data: files of tasks, each an object that the command is handed in $TASK; held_out, seed, shuffle:
      as of `prompts`. Without data the tasks are seeds.

    Raises InputError.
    """
    fields = Fields(options, "option ")
    command = fields.value("command")
    words = ["bash", "-c", command] if isinstance(command, str) and command.strip() else command
    if (
        not isinstance(words, list)
        or not words
        or not all(isinstance(word, str) and "\0" not in word for word in words)
    ):
        raise fields.error("command", 'the words of a command, such as ["python", "agent.py"], or one text for bash')
    reward = fields.text("reward", FILE)
    if reward not in REWARDS:
        raise fields.error("reward", f"one of {', '.join(REWARDS)}")
    without = fields.value("without_reward")
    reward_file = posixpath.normpath(fields.text("reward_file", HarnessOptions.reward_file))
    if reward_file.startswith(("/", "..")) or reward_file == ".":
        raise fields.error("reward_file", "a path below the home folder")
    isolation = fields.text("isolation", "auto")
    venv, variables = fields.text("venv", ""), _texts(fields, "environment")
    binds, defaults = _binds(fields), ContainerSpec()
    if venv:
        place = _there(fields, "venv", venv)
        if not (place / "bin" / "python").exists():
            raise fields.error("venv", "a Python environment, with bin/python")
        binds = {str(place): place, **binds}
        programs = os.environ["PATH"] if isolation == BESIDE else defaults.variables("", "")["PATH"]
        variables = {"VIRTUAL_ENV": str(place), "PATH": f"{place}/bin:{programs}", **variables}
    container = ContainerSpec(
        memory_mib=fields.integer("memory_mib", 2 * defaults.memory_mib, *MIB) or 0,
        processes=fields.integer("processes", defaults.processes, *PROCESSES) or 0,
        disk_mib=fields.integer("disk_mib", defaults.disk_mib, *MIB) or 0,
        binds=binds,
    )
    found = HarnessOptions(
        command=tuple(words),
        reward=reward,
        reward_file=reward_file,
        without_reward=None if without is None else fields.number("without_reward", 0.0, -1e6, 1e6),
        success_reward=fields.number("success_reward", HarnessOptions.success_reward, -1e6, 1e6),
        time_limit=fields.number("time_limit", HarnessOptions.time_limit, 0.1, 1e6),
        answers=fields.integer("answers", HarnessOptions.answers, 1, 10_000) or 1,
        isolation=isolation,
        files={inside: _there(fields, "files", host) for inside, host in _texts(fields, "files").items()},
        container=container,
        environment=variables,
        reference=fields.text("reference", ""),
    )
    rows = _rows(fields)
    if unknown := fields.unread():
        raise InputError(f"harness: an option must be one of {', '.join(OPTIONS)}; got {unknown[0]!r}")
    found.check_files()
    return found, rows


class TaskRows:
    """The tasks of a file by the seeds of tasks, as `dealt` says."""

    def __init__(self, data: str, evaluation_data: str, sides: Sides) -> None:
        """Raises InputError that names file and line of what is none."""
        self.dealt, self._rows = RowSplit(sides), list[dict[str, Any]]()
        for file, side in ((data, ""), (evaluation_data, EVAL)):
            for where, record in records_of(Path(file)) if file else ():
                row = without_split(record)
                text = json.dumps(row, sort_keys=True, default=str)
                said = side or split_of(record, f"{where}: field ") or ("train" if evaluation_data else "")
                self.dealt.add(text, len(text), said)
                self._rows.append(row)
        self.dealt.deal(", ".join(filter(None, (data, evaluation_data))))

    def row(self, seed: int) -> dict[str, Any]:
        """Row of the task with this seed."""
        return self._rows[self.dealt.row(seed)]


def _rows(fields: Fields) -> TaskRows | None:
    data, evaluation_data = fields.text("data", ""), fields.text("evaluation_data", "")
    sides = Sides(
        fields.number("held_out", Sides.held_out, 0, 1),
        fields.integer("seed", 0, 0, 2**31) or 0,
        fields.flag("shuffle", True),
    )
    if not data:
        if evaluation_data:
            raise InputError(f"option data must be given with evaluation_data; got {evaluation_data!r} alone")
        return None
    stamps = []
    for name, file in (("data", data), ("evaluation_data", evaluation_data)):
        if file and (Path(file).suffix not in RECORD_FILES or not Path(file).is_file()):
            raise fields.error(name, f"a file of {', '.join(RECORD_FILES)}")
        stamps += [Path(file).stat().st_mtime_ns] if file else []
    return _opened(data, evaluation_data, sides, tuple(stamps))


@functools.lru_cache(maxsize=8)
def _opened(data: str, evaluation_data: str, sides: Sides, stamps: tuple[int, ...]) -> TaskRows:
    """Once for as long as the files stay as they are."""
    return TaskRows(data, evaluation_data, sides)


def _texts(fields: Fields, name: str) -> dict[str, str]:
    given = fields.value(name) or {}
    if not isinstance(given, Mapping) or not all(isinstance(value, str) for value in given.values()):
        raise fields.error(name, "an object of names and texts")
    return dict(given)


def _binds(fields: Fields) -> dict[str, Path]:
    given = fields.value("binds")
    if isinstance(given, list) and all(isinstance(path, str) for path in given):
        given = {str(Path(path).absolute()): path for path in given}
        fields = Fields({**fields.values, "binds": given}, fields.prefix)
    return {inside: _there(fields, "binds", host) for inside, host in _texts(fields, "binds").items()}


def _there(fields: Fields, name: str, host: str) -> Path:
    if not (path := Path(host).absolute()).exists():
        raise InputError(f"option {name} must name what is there; got {host!r}, which is not")
    return path


def _files_of(inside: str, host: Path) -> Iterator[tuple[str, Path]]:
    """Each with its place in a home folder."""
    for path in sorted(host.rglob("*")) if host.is_dir() else [host]:
        if path.is_file():
            place = posixpath.join(inside, path.relative_to(host).as_posix()) if host.is_dir() else inside
            yield posixpath.normpath(place), path
