"""Where a flywheel's tasks come from, by name.

""                          the tasks of `config.environment`: games, websites, browsing, computers, ...
mine/tasks.jsonl            tasks that were synthesized, one a line, as `Task.to_json` writes them
package.module:attribute    a function of the config that gives a TaskProvider, as does an entry point of
                            `tars_jax.task_sources`
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.task_provider import DEMONSTRATIONS, HELD_OUT, PRACTICE, TRAINING, VALUE, TaskProvider
from tars_jax.plugins import Plugins
from tars_jax.trajectory import Step, Trajectory

SOURCES = Plugins("tasks", "tars_jax.task_sources")


def load_task_source(name: str, config: Any) -> TaskProvider:
    """Raises InputError where there is no such source, or its tasks are none."""
    if not name:
        return EnvironmentTasks(config)
    if name.endswith(".jsonl"):
        return TasksOfFile(Path(name), config)
    provider: TaskProvider = SOURCES.load(name)(config)
    return provider


class TasksOfFile:
    """A fixed number of tasks: a share of them is held out, the rest is gone through in turns.

    A line may say `split`, "train" or "eval", beside the task's fields; without, every fifth task is held out. Which
    ones a stage gets begins at another place for each stage, and goes round.
    """

    def __init__(self, file: Path, config: Any) -> None:
        self._config, self._environment = config, EnvironmentTasks(config)
        self._sets: dict[str, list[Task]] = {"train": [], "eval": []}
        try:
            lines = file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"config.tasks must be a file that can be read; got {str(file)!r}: {error}") from error
        for number, line in enumerate(filter(str.strip, lines)):
            try:
                record = json.loads(line)
                split = record.pop("split", "eval" if number % 5 == 4 else "train")
                self._sets[split].append(Task.from_json(record))
            except (ValueError, AttributeError, KeyError, InputError) as error:
                raise InputError(
                    f"{file}:{number + 1} must be a task of JSON, of split train or eval; {error}"
                ) from error
        if not all(self._sets.values()):
            counts = {name: len(tasks) for name, tasks in self._sets.items()}
            raise InputError(f"{file} must hold tasks to train on and tasks to hold out; got {counts}")
        for name, tasks in self._sets.items():
            np.random.default_rng((config.seed, len(name))).shuffle(tasks)

    @property
    def has_reference(self) -> bool:
        return self._environment.has_reference

    def demonstrations(self, count: int) -> list[Task]:
        return self._turns(DEMONSTRATIONS, count)

    def value_episodes(self, count: int) -> list[Task]:
        return self._turns(VALUE, count)

    def practice(self, count: int) -> list[Task]:
        return self._turns(PRACTICE, count)

    def held_out(self, count: int) -> list[Task]:
        if count > len(self._sets["eval"]):
            raise InputError(
                f"tasks to hold out must be {count} or more, for evaluation and validation; "
                f"got {len(self._sets['eval'])}"
            )
        return self._sets["eval"][:count]

    def training(self, state: Mapping[str, Any] | None) -> _InTurns:
        return _InTurns(self._turns(TRAINING, len(self._sets["train"])))

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return self._environment.known(task, step)

    def _turns(self, stream: int, count: int) -> list[Task]:
        tasks = self._sets["train"]
        assert stream != HELD_OUT
        start = stream * len(tasks) // 5
        return [tasks[(start + number) % len(tasks)] for number in range(count)]


class _InTurns:
    """The training tasks of PPO, one after the other."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def task(self, index: int) -> Task:
        return self._tasks[index % len(self._tasks)]

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        return {"return": float(np.mean([trajectory.reward for trajectory in trajectories]))}

    def state(self) -> dict[str, Any]:
        return {}
