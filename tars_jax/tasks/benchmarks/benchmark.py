"""Benchmarks of others: their tasks, read from their own files, and what plays, judges and writes them.

Nothing of a benchmark's data is part of this package: a path of the user's says where it is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.tasks.sampling import split_of_seed
from tars_jax.tasks.splits import EVAL, SPLITS, TRAIN

HELD_OUT = 5  # of a benchmark's tasks every fifth is held out where an agent trains on them


@dataclasses.dataclass(frozen=True)
class BenchmarkTask:
    """One task, as the benchmark has it."""

    id: str  # as the benchmark calls it
    instruction: str
    group: str = ""  # the benchmark's own division, such as a domain or a level: a row of the table
    max_steps: int = 0  # its step budget; 0: the benchmark's
    time_limit: float = math.inf  # seconds that the benchmark gives an episode
    record: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # as the file says it
    folder: Path | None = None  # where the files are that it comes with
    left_out: str = ""  # why it cannot be played here, in a sentence; empty: it can
    reference: str = ""  # the answer that a judge compares with


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Names of what plays a benchmark's tasks and of what reads and writes its files."""

    name: str  # of the suite, and of the environment
    title: str
    version: str  # of the tasks and of who scores them
    read: Callable[[Path], Sequence[BenchmarkTask]]  # InputError for what is none of its files
    environment: str  # package.module:Class of a `tars_jax.envs.benchmarks.episode.BenchmarkEnvironment`
    max_steps: int  # of an episode, by its protocol
    attempts: int = 1  # of each task, that its leaderboard counts
    judge: tuple[str, Mapping[str, Any]] | None = None  # where the run names none; None: the environment tells
    results: str = ""  # package.module:function that writes its own result files; empty: it has none


class BenchmarkTasks:
    """Tasks of a path that can be played here, by their seeds: even ones to train on, odd ones held out."""

    def __init__(self, benchmark: Benchmark, path: Path, names: Sequence[str] = ()) -> None:
        """`names`: the ids of some of them; empty: all.

        Raises InputError for a file that is none of the benchmark's, for two tasks of one id, for ids that it has not
        and those that cannot be played here, and where nothing is left.
        """
        read = benchmark.read(path)
        ids = [task.id for task in read]
        if twice := sorted({id for id in ids if ids.count(id) > 1}) if len(set(ids)) < len(ids) else []:
            raise InputError(f"{path}: ids of tasks must differ; got {twice[0]!r} twice")
        if unknown := [name for name in names if name not in ids]:
            few = ", ".join(ids[:3]) + (" ..." if len(ids) > 3 else "")
            raise InputError(f"names must be ids of tasks in {path}, such as {few}; got {unknown[0]!r}")
        chosen = [task for task in read if not names or task.id in names]
        self.benchmark, self.path = benchmark, path
        self.left_out = {task.id: task.left_out for task in chosen if task.left_out}
        self.tasks = tuple(task for task in chosen if not task.left_out)
        if not self.tasks:
            why = f"; the first: {next(iter(self.left_out.values()))}" if self.left_out else ""
            raise InputError(f"{path} must hold tasks of {benchmark.title} that can be played here; got none{why}")
        self._by_id = {task.id: task for task in self.tasks}
        held = [task for number, task in enumerate(self.tasks) if number % HELD_OUT == HELD_OUT - 1]
        held = held or list(self.tasks[-1:])
        trained = [task for task in self.tasks if task not in held]
        self._sides = {TRAIN: trained or held, EVAL: held}

    def of(self, task: Task) -> BenchmarkTask:
        """The one that a task names by its option `task`, or else its seed's. Raises InputError."""
        named = task.options.get("task", "")
        if named and named not in self._by_id:
            why = self.left_out.get(named, f"{self.path} has no such task, or config.names leaves it out")
            raise InputError(f"option task must be the id of one that can be played here; got {named!r}: {why}")
        side = self._sides[split_of_seed(task.seed)]
        return self._by_id[named] if named else side[task.seed // 2 % len(side)]

    def budget(self, named: str = "") -> int:
        """The steps of one task, or of the longest."""
        some = [self._by_id[named]] if named in self._by_id else self.tasks
        return max(task.max_steps or self.benchmark.max_steps for task in some)

    def count(self, split: str) -> int:
        return len(self._sides[split])

    def seed(self, split: str, index: int, stream: int) -> int:
        """Seed of task `index` of a stream: every one comes once before any comes again."""
        turn, place = divmod(index, len(self._sides[split]))
        place = (place + stream) % len(self._sides[split])
        return 2 * (turn * len(self._sides[split]) + place) + SPLITS.index(split)

    def telling(self) -> Sequence[int]:
        """Seeds of those with the longest instruction on each side."""
        return [
            2 * max(range(len(side)), key=lambda place: len(side[place].instruction)) + SPLITS.index(split)
            for split, side in self._sides.items()
        ]
