"""Any environment by its name: what is known of its tasks before they are played, and the tasks of each stage."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.envs.registry import EnvironmentSpec, environments_in, load_environment
from tars_jax.judges import load_judge
from tars_jax.pipelines.task_provider import TRAINING, EvenSets
from tars_jax.rollout.curriculum import UNCERTAIN, FrontierCurriculum
from tars_jax.tasks.sampling import level_seed
from tars_jax.tasks.splits import EVAL
from tars_jax.trajectory import Step, Trajectory

Options = dict[str, Any]


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


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of task: an environment, as tasks name it, and its options."""

    environment: str
    options: Options
    spec: EnvironmentSpec

    @property
    def record(self) -> dict[str, Any]:
        return kind_of({"environment": self.environment, "options": self.options})


def kind_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """What the tasks of a kind have in common."""
    return {name: task[name] for name in ("environment", "options")}


class EnvironmentTasks(EvenSets):
    """Tasks of `config.environment`, or of several: seeds are drawn, and no two sets share one.

    Each environment under each of the options is a kind of task: all alike for demonstrations and evaluation, and while
    PPO trains more often the less certain their outcome.
    """

    def __init__(self, config: Any) -> None:
        self._config = config
        self.kinds = [
            Kind(name, options, load_environment(name, options))
            for options in options_of(config)
            for name in environments_in(config.environment)
        ]
        for kind in self.kinds:
            if kind.spec.judge is not None and not config.task.get("judge", ""):
                load_judge(*kind.spec.judge)  # what it cannot have is said before anything is played

    @property
    def has_reference(self) -> bool:
        """Whether somebody can show how it is done."""
        own = bool(self._config.demonstrations.player)
        return own or all(kind.spec.reference is not None for kind in self.kinds)

    def training(self, state: Mapping[str, Any] | None) -> FrontierTasks:
        return FrontierTasks(self, self._config.seed, state)

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return json.dumps(kind_of(task), sort_keys=True)

    def draw(self, split: str, stream: int, index: int, kind: Kind) -> Task:
        """Task `index` of a stream, of one kind."""
        spec, stream_seed = kind.spec, 10 * self._config.seed + stream
        if spec.levels is not None:
            seed = spec.levels.seed(split, index, stream_seed)
        else:
            seed = level_seed(spec.name, split, index, stream_seed)
        return self.level(kind, f"{spec.name}-{split}-{stream_seed}-{index}", seed)

    def level(self, kind: Kind, id: str, seed: int) -> Task:
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
        """As many as there are, where that is known and fewer."""
        counts = [kind.spec.levels.count(EVAL) for kind in self.kinds if kind.spec.levels is not None]
        return super().held_out(min([count, *(len(self.kinds) * each for each in counts)]))

    def _even(self, split: str, stream: int, count: int) -> list[Task]:
        return [self.draw(split, stream, index, self.kinds[index % len(self.kinds)]) for index in range(count)]


def _step_limit(asked: int | None, own: int) -> int:
    return own if asked is None else min(asked, own)


class FrontierTasks:
    """The training tasks of PPO."""

    def __init__(self, tasks: EnvironmentTasks, seed: int, state: Mapping[str, Any] | None) -> None:
        self._tasks, self._kinds = tasks, [kind.record for kind in tasks.kinds]
        self._curriculum = FrontierCurriculum(self._kinds, seed, state, kind_of=kind_of)

    @property
    def picks(self) -> str:
        return UNCERTAIN if len(self._kinds) > 1 else ""

    def task(self, index: int) -> Task:
        kind = self._kinds.index(self._curriculum.options(index))
        return self._tasks.draw("train", TRAINING, index, self._tasks.kinds[kind])

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        self._curriculum.update(trajectories)
        return {"return": float(np.mean([trajectory.reward for trajectory in trajectories]))}

    def state(self) -> dict[str, Any]:
        return self._curriculum.state()
