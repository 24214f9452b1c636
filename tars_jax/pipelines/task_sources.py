"""Sources of a flywheel's tasks, by name.

""                          the tasks of `config.environment`: games, websites, browsing, computers, ...
mine/tasks.jsonl            tasks that were synthesized, one a line: questions (`synthesize_questions`, environment
                            browsing), tasks of websites (`synthesize_websites`, environment website_app), or any as
                            `Task.to_json` writes them
package.module:attribute    a function of the config that gives a TaskProvider, as does an entry point of
                            `tars_jax.task_sources`
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.envs.registry import environments_in, load_environment
from tars_jax.json_fields import read_json_lines
from tars_jax.pipelines.environments import EnvironmentTasks, options_of
from tars_jax.pipelines.mixture import MixedTasks, mixture_in, mixture_of
from tars_jax.pipelines.probing import MOST_PROBES
from tars_jax.pipelines.task_provider import (
    DEMONSTRATIONS,
    HELD_OUT,
    PRACTICE,
    TRAINING,
    VALUE,
    TaskProvider,
    TaskStream,
)
from tars_jax.plugins import Plugins
from tars_jax.tasks.splits import EVAL, FIELD, SPLITS, TRAIN, split_of, without_split
from tars_jax.trajectory import Step, Trajectory

SOURCES = Plugins("tasks", "tars_jax.task_sources")
SEED_BYTES = 6  # exact as a JavaScript number
UNSAID = 5  # of a file that says of no task on which side it stands, every fifth is held out
# Environments that draw from a list among their options, and what a line of such a list has.
LISTS = {"browsing": ("questions", "answers", "text"), "website_app": ("tasks", "site", "instruction")}


def load_task_source(name: str, config: Any) -> TaskProvider:
    """Raises InputError where there is no such source, or its tasks are none."""
    if not name:
        if drawn := [each for each in environments_in(config.environment) if each in LISTS]:
            raise InputError(
                f"config.tasks must be the file of {LISTS[drawn[0]][0]} for {drawn[0]}, so that none is both trained "
                "on and held out; got ''"
            )
        return EnvironmentTasks(config)
    if name.endswith(".jsonl"):
        return TasksOfFile(Path(name), config)
    provider: TaskProvider = SOURCES.load(name)(config)
    if config.mixture.weights and not mixture_in(provider):
        raise InputError(
            f"mixture.weights must be () for tasks of {name}, which has no parts; got {config.mixture.weights}"
        )
    return provider


def with_listed(config: Any) -> Any:
    """`config` whose environment draws from the lines of `config.tasks`, where these are of such a one: what is looked
    at before anything is played are the longest of them. Raises InputError for a file that cannot be read."""
    if not config.tasks.endswith(".jsonl"):
        return config
    lines = _lines(Path(config.tasks))
    if config.environment not in LISTS:
        return config
    option, _, words = LISTS[config.environment]
    listed = [record for _, record in _chosen(lines, config) if _form(record)]
    if not listed:
        return config
    longest = sorted(listed, key=lambda record: -len(str(record.get(words))))[:MOST_PROBES]
    options = [{**kind, option: [without_split(record) for record in longest]} for kind in options_of(config)]
    config = config.copy_and_resolve_references()
    config.environment_options = json.dumps(options[0] if len(options) == 1 else options)
    return config


def listed_tasks(config: Any) -> list[Task]:
    """All tasks of the file that is `config.tasks`, with what the agent is told; none where it is no file. Raises
    InputError as `TasksOfFile` does."""
    if not config.get("tasks", "").endswith(".jsonl"):
        return []
    return TasksOfFile(Path(config.tasks), config).with_instructions()


def _chosen(lines: Sequence[tuple[str, dict[str, Any]]], config: Any) -> list[tuple[str, dict[str, Any]]]:
    """Without tasks of websites that the option `sites` leaves out, and those whose recorded solution takes more than
    `solution_steps`, where that is not 0."""
    sites, most = options_of(config)[0].get("sites", ()), config.get("solution_steps", 0)

    def is_chosen(record: Mapping[str, Any]) -> bool:
        if _form(record) != "website_app":
            return True
        solution = (record.get("about") or {}).get("solution", ())
        return (not sites or record["site"] in sites) and (not most or len(solution) <= most)

    return [(where, record) for where, record in lines if is_chosen(record)]


def place_of(task: Mapping[str, Any]) -> str:
    """Place of a task: its website, or its environment."""
    listed = task.get("options", {}).get("tasks")
    sites = {each.get("site") for each in listed} if isinstance(listed, list) else set()
    return str(sites.pop()) if len(sites) == 1 else str(task.get("environment", ""))


def _form(record: Mapping[str, Any]) -> str:
    """The environment whose list a line is of; empty: it is a whole task."""
    if "environment" in record:
        return ""
    return next((name for name, (_, mark, words) in LISTS.items() if mark in record and words in record), "")


def _lines(file: Path) -> list[tuple[str, dict[str, Any]]]:
    """Objects of a file, each with its place in it."""
    try:
        lines = list(read_json_lines(file, "a task of JSON"))
    except InputError as error:
        raise InputError(f"config.tasks: {error}") from error
    if not lines:
        raise InputError(f"config.tasks must be a file of tasks, one a line; got {str(file)!r}, which holds none")
    for where, record in lines:
        if "environment" not in record and not _form(record):
            lists = " or ".join(f"{mark} and {words} (of {name})" for name, (_, mark, words) in LISTS.items())
            raise InputError(
                f"config.tasks: {where} must be a task of JSON with the field environment, or with {lists}; "
                f"got {', '.join(record) or 'no field'}"
            )
    return lines


def _sides(lines: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """On which side each line stands: as all of them say, or, where none does, every fifth is held out."""
    said = [split_of(record, f"config.tasks: {where}: ") for where, record in lines]
    if not any(said):
        return [EVAL if number % UNSAID == UNSAID - 1 else TRAIN for number in range(len(lines))]
    if not all(said):
        raise InputError(
            f"config.tasks: {lines[said.index('')][0]}: split must be {' or '.join(SPLITS)}, as other lines of the "
            "file say it; got nothing"
        )
    return said


def _asked(task: Task, record: Mapping[str, Any]) -> str:
    """The same for lines that ask for the same, whatever they are called."""
    if not _form(record):
        return json.dumps([task.environment, task.seed, dict(task.options)], sort_keys=True)
    beside = ("id", "about", "max_steps")
    return json.dumps({name: value for name, value in record.items() if name not in beside}, sort_keys=True)


def _with_instruction(task: Task) -> Task:
    if task.instruction or task.environment not in LISTS:
        return task
    option, _, words = LISTS[task.environment]
    (record,) = task.options[option]
    return dataclasses.replace(task, instruction=str(record[words]))


class TasksOfFile:
    """A fixed number of tasks: a share of them is held out, the rest is gone through in turns.

    Lines say `split`, "train" or "eval", beside the task's fields (`tars_jax.tasks.splits`): all of them, or none; then
    every fifth is held out. Which ones a stage gets begins at another place for each stage, and goes round. Of
    websites' tasks those are left out that `_chosen` says.

    Raises InputError that names the line for what is no task, and for one that stands on both sides, by its id or by
    what it asks, or for a website of which lines say both: it is held out as a whole or not at all.
    """

    def __init__(self, file: Path, config: Any) -> None:
        self._config, self._environment = config, EnvironmentTasks(config)
        self._sets: dict[str, list[Task]] = {side: [] for side in SPLITS}
        lines = _chosen(_lines(file), config)
        is_said = any(FIELD in record for _, record in lines)
        seen: dict[str, tuple[str, str]] = {}  # where a task or a said side of a site was met first, and on which side
        for (where, record), side in zip(lines, _sides(lines), strict=True):
            record = without_split(record)
            try:
                task = self._task(record)
            except (ValueError, AttributeError, KeyError, TypeError, InputError) as error:
                raise InputError(f"config.tasks: {where} must be a task of JSON; {error}") from error
            names = {f"id {task.id}": "a task", _asked(task, record): "a task"}
            if is_said and _form(record) == "website_app":
                names[f"site {record['site']}"] = f"the site {record['site']}"
            for name, what in names.items():
                first, other = seen.setdefault(name, (where, side))
                if other != side:
                    raise InputError(
                        f"config.tasks: {where} must be of one split; got {side} for {what} that is {other} at {first}"
                    )
            self._sets[side].append(task)
        if not all(self._sets.values()):
            counts = {side: len(tasks) for side, tasks in self._sets.items()}
            raise InputError(f"config.tasks: {file} must hold tasks to train on and tasks to hold out; got {counts}")
        for name, tasks in self._sets.items():
            np.random.default_rng((config.seed, len(name))).shuffle(tasks)
        places = sorted({place_of(task.to_json()) for task in self._sets[TRAIN]})
        self.mixture = mixture_of(config, places, lambda task: places.index(place_of(task)))

    def _task(self, record: dict[str, Any]) -> Task:
        """A line of a list becomes a task that holds it whole, so that it is the same wherever the file lies."""
        if not (name := _form(record)):
            return Task.from_json(record)
        if name != self._config.environment:
            raise InputError(f"config.environment must be {name} for it; got {self._config.environment!r}")
        options = {**options_of(self._config)[0], LISTS[name][0]: [record]}
        spec = load_environment(name, options)
        most = min(self._config.task.max_steps, spec.default_max_steps(options))
        # Of its own: players draw from it, and all would draw the same.
        seed = int.from_bytes(hashlib.sha256(str(record["id"]).encode()).digest()[:SEED_BYTES])
        task = Task(str(record["id"]), name, seed, options, most, self._config.task.instruction)
        return dataclasses.replace(task, verification=spec.verification(task))

    def with_instructions(self) -> list[Task]:
        """All of both sides; a line of a list says what the agent is told, which its task leaves to the environment."""
        return [_with_instruction(task) for tasks in self._sets.values() for task in tasks]

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
        if count > len(self._sets[EVAL]):
            raise InputError(
                f"tasks to hold out must be {count} or more, for evaluation and validation; "
                f"got {len(self._sets['eval'])}"
            )
        return self._sets[EVAL][:count]

    def training(self, state: Mapping[str, Any] | None) -> TaskStream:
        tasks = self._turns(TRAINING, len(self._sets[TRAIN]))
        if self.mixture is None:
            return _InTurns(tasks)
        parts = [self.mixture.part_of(task.to_json()) for task in tasks]
        own = ([task for task, its in zip(tasks, parts, strict=True) if its == part] for part in sorted(set(parts)))
        return MixedTasks(self.mixture, [_InTurns(each) for each in own])

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return self._environment.known(task, step)

    def _turns(self, stream: int, count: int) -> list[Task]:
        tasks = self._sets[TRAIN]
        assert stream != HELD_OUT
        start = stream * len(tasks) // 5
        return [tasks[(start + number) % len(tasks)] for number in range(count)]


class _InTurns:
    """The training tasks of PPO, one after the other."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    @property
    def picks(self) -> str:
        return ""

    def task(self, index: int) -> Task:
        return self._tasks[index % len(self._tasks)]

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        return {"return": float(np.mean([trajectory.reward for trajectory in trajectories]))}

    def state(self) -> dict[str, Any]:
        return {}
