"""Any environment by its name: what is known of its tasks before they are played, and the tasks of each stage."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.envs.registry import EnvironmentSpec, environments_in, load_environment, written_environments
from tars_jax.judges import load_judge
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.mixture import MixedTasks, mixture_of, part_names, states_of_parts
from tars_jax.pipelines.task_provider import TRAINING, EvenSets, TaskStream
from tars_jax.rollout.config import WHOLE, Share
from tars_jax.rollout.curriculum import UNCERTAIN, FrontierCurriculum
from tars_jax.tasks.library import members
from tars_jax.tasks.sampling import level_seed
from tars_jax.tasks.splits import EVAL
from tars_jax.trajectory import Step, Trajectory

Options = dict[str, Any]
ADDRESSEE = "environment"  # among options: the one of several environments that they are for


def options_of(config: Any) -> list[Options]:
    """`config.environment_options`: a JSON object, or a list of them, each a kind of task. Raises InputError."""
    text = config.environment_options or "{}"
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"config.environment_options must be JSON; got {text!r:.80}: {error}") from error
    kinds = given if isinstance(given, list) else [given]
    if not kinds or not all(isinstance(kind, dict) for kind in kinds):
        raise InputError(f"config.environment_options must be a JSON object or a list of some; got {text!r:.80}")
    return kinds


def written_kinds(config: Any) -> list[tuple[str, Options]]:
    """All options in their order, each with those of `config.environment`, as they are written, that it is for: the one
    that it names as `environment`, or all. Raises InputError where one of them has none."""
    written = written_environments(config.environment)
    found = [
        (name, {key: value for key, value in options.items() if (key, value) != (ADDRESSEE, name)})
        for options in options_of(config)
        for name in written
        if options.get(ADDRESSEE) not in written or options[ADDRESSEE] == name
    ]
    if without := [name for name in written if name not in {each for each, _ in found}]:
        raise InputError(
            f"config.environment_options must have some for {without[0]}, or some that name no environment; "
            f"got {config.environment_options!r:.80}"
        )
    return found


def written_parts(config: Any) -> list[tuple[str, Options]]:
    """Kinds of tasks by environment: the parts of a mixture."""
    written = written_environments(config.environment)
    return sorted(written_kinds(config), key=lambda kind: written.index(kind[0]))


def configured_environment(
    name: str, options: Options, field: str = "config.environment", of_options: str = "config.environment_options"
) -> EnvironmentSpec:
    """As `load_environment` has it; what that refuses names the field of the config, that of the name or of the
    options."""
    try:
        return load_environment(name, options)
    except InputError as error:
        if str(error).startswith(f"{name}: "):
            raise InputError(f"{of_options}: {error}") from error
        if str(error).startswith("environment must "):
            raise InputError(f"{field}{str(error).removeprefix('environment')}") from error
        raise


@dataclasses.dataclass(frozen=True)
class TaskKind:
    """One kind of task: an environment, as tasks name it, and its options."""

    environment: str
    options: Options
    spec: EnvironmentSpec

    @property
    def record(self) -> dict[str, Any]:
        return kind_of({"environment": self.environment, "options": self.options})

    @property
    def meaning(self) -> str:
        """A key that is the same for a kind that spells an option's default out."""
        return json.dumps([self.environment, {**self.spec.defaults, **self.options}], sort_keys=True, default=repr)


def kind_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that all tasks of a kind have in common."""
    return {name: task[name] for name in ("environment", "options")}


def _kinds(written: Sequence[tuple[str, Options]]) -> list[TaskKind]:
    return [
        TaskKind(each, options, configured_environment(each, options))
        for name, options in written
        for each in members(name)
    ]


def _key(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True)


class EnvironmentTasks(EvenSets):
    """Tasks of `config.environment`, or of several: seeds are drawn, and no two sets share one.

    Each environment under each of the options is a kind of task: all alike for demonstrations and evaluation, and while
    PPO trains more often the less certain their outcome. In a mixture each environment as it is written, under each of
    the options, is a part, which may be a collection of kinds: parts are alike then, and in each part its kinds.
    """

    def __init__(self, config: Any) -> None:
        self._config = config
        with naming("config.environment", "environment"):
            environments_in(config.environment)  # each once
        self.kinds = _kinds(written_kinds(config))
        self.mixture, self._parts = None, [self.kinds]
        if not config.get("tasks", ""):  # of what a file or a source of one's own holds, that one knows the parts
            written = written_parts(config)
            parts = [_kinds([pair]) for pair in written]
            places = {_key(kind.record): number for number, part in enumerate(parts) for kind in part}
            self.mixture = mixture_of(config, part_names(written), lambda task: places[_key(kind_of(task))])
            if self.mixture is not None and len({kind.meaning for kind in self.kinds}) < len(self.kinds):
                raise InputError(
                    "config.environment_options must be different ones with mixture.weights, each with its own weight; "
                    f"got {config.environment_options!r:.80}"
                )
            self._parts = [self.kinds] if self.mixture is None else parts
        for kind in self.kinds:
            if kind.spec.judge is not None and not config.task.get("judge", ""):
                load_judge(*kind.spec.judge)  # what it cannot have is said before anything is played

    @property
    def has_reference(self) -> bool:
        """Whether somebody can show how it is done."""
        own = bool(self._config.demonstrations.player)
        return own or all(kind.spec.has_reference for kind in self.kinds)

    def training(self, state: Mapping[str, Any] | None) -> TaskStream:
        if self.mixture is None:
            return FrontierTasks(self, self.kinds, self._config.seed, state)
        states = states_of_parts(state, len(self._parts))
        streams = [
            FrontierTasks(self, kinds, self._config.seed, its, Share(part, len(self._parts)))
            for part, (kinds, its) in enumerate(zip(self._parts, states, strict=True))
        ]
        return MixedTasks(self.mixture, streams)

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return _key(kind_of(task))

    def draw(self, split: str, stream: int, index: int, kind: TaskKind, turn: int | None = None) -> Task:
        """Task `index` of a stream, of one kind. `turn`: of those that are this part's, where that is not all: of
        tasks of which there are so many and no more, the next."""
        spec, stream_seed = kind.spec, 10 * self._config.seed + stream
        if spec.levels is not None:
            seed = spec.levels.seed(split, index if turn is None else turn, stream_seed)
        else:
            seed = level_seed(spec.name, split, index, stream_seed)
        return self.level(kind, f"{spec.name}-{split}-{stream_seed}-{index}", seed)

    def level(self, kind: TaskKind, id: str, seed: int) -> Task:
        """The task of a kind with this seed."""
        spec, options = kind.spec, kind.options
        task = Task(
            id=id.replace("/", "."),
            environment=kind.environment,
            seed=seed,
            options=options,
            max_steps=_step_limit(self._config.task.max_steps, spec.default_max_steps(options)),
            instruction=self._config.task.instruction,
        )
        verification, threshold = spec.verification(task), self._config.task.success_threshold
        if threshold:
            verification = dataclasses.replace(verification, threshold=float(threshold))
        return dataclasses.replace(task, verification=verification)

    def held_out(self, count: int) -> list[Task]:
        """Held-out tasks; fewer than `count` where it is known that there are no more."""
        limited = [(part, kind.spec.levels) for part in self._parts for kind in part if kind.spec.levels is not None]
        most = [len(self._parts) * len(part) * levels.count(EVAL) for part, levels in limited]
        return super().held_out(min([count, *most]))

    def _even(self, split: str, stream: int, count: int) -> list[Task]:
        def task(index: int) -> Task:
            turn, number = divmod(index, len(self._parts))
            part = self._parts[number]
            return self.draw(split, stream, index, part[turn % len(part)], turn)

        return [task(index) for index in range(count)]


def evaluation_tasks(environment: str, options: str, count: int, seed: int, max_steps: int) -> list[Task]:
    """Held-out tasks of an environment, or of several, for an evaluation without a job around it; each has `max_steps`,
    also where its environment would have said fewer. `options`: as `config.environment_options`. Raises InputError."""
    task = {"max_steps": None, "instruction": "", "success_threshold": None}
    config = ConfigDict(
        {"environment": environment, "environment_options": options, "seed": seed, "task": task}
        | {"mixture": {"weights": ()}}
    )
    tasks = EnvironmentTasks(config).held_out(count)
    return [dataclasses.replace(each, max_steps=max_steps) for each in tasks]


def _step_limit(asked: int | None, own: int) -> int:
    return own if asked is None else min(asked, own)


class FrontierTasks:
    """The training tasks of PPO: of all kinds, or of those of one part, the `share` of the stream's numbers."""

    def __init__(
        self,
        tasks: EnvironmentTasks,
        kinds: Sequence[TaskKind],
        seed: int,
        state: Mapping[str, Any] | None,
        share: Share = WHOLE,
    ) -> None:
        self._tasks, self._kinds, self._share = tasks, kinds, share
        self._curriculum = FrontierCurriculum([kind.record for kind in kinds], seed, state, kind_of=kind_of)

    @property
    def picks(self) -> str:
        return UNCERTAIN if len(self._kinds) > 1 else ""

    def task(self, index: int) -> Task:
        """The next of its own: number `index` of them."""
        number = self._share.number + index * self._share.of
        picked = self._curriculum.options(number)
        kind = next(kind for kind in self._kinds if kind.record == picked)
        return self._tasks.draw("train", TRAINING, number, kind, index)

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        self._curriculum.update(trajectories)
        return {"return": float(np.mean([trajectory.reward for trajectory in trajectories]))}

    def state(self) -> dict[str, Any]:
        return self._curriculum.state()
