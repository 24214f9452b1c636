"""Mazes whose exit lies farther and farther away, as tasks for the stages."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.environment import Task
from tars_jax.pipelines.task_provider import DEMONSTRATIONS, HELD_OUT, PRACTICE, TRAINING, VALUE
from tars_jax.rollout.curriculum import CurriculumConfig, StagedCurriculum
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Step, Trajectory


def curriculum_config(config: Any) -> CurriculumConfig:
    """Raises InputError for stages that are none."""
    return CurriculumConfig(**config.curriculum.to_dict())


class MazeTasks:
    """Tasks of one game whose levels differ in the distance from start to exit."""

    def __init__(self, config: Any) -> None:
        self._config = config

    @property
    def has_reference(self) -> bool:
        return True

    def demonstrations(self, count: int) -> list[Task]:
        return tasks(self._config, "train", DEMONSTRATIONS, count, self._config.demonstrations.distances)

    def value_episodes(self, count: int) -> list[Task]:
        return tasks(self._config, "train", VALUE, count, self._config.task.evaluation_distances)

    def practice(self, count: int) -> list[Task]:
        return tasks(self._config, "train", PRACTICE, count, self._config.task.evaluation_distances)

    def held_out(self, count: int) -> list[Task]:
        return tasks(self._config, "eval", HELD_OUT, count, self._config.task.evaluation_distances)

    def training(self, state: Mapping[str, Any] | None) -> GrowingMazes:
        return GrowingMazes(self._config, state)

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return step.info["state"]["distance"]


class GrowingMazes:
    """Mazes whose distance grows with success."""

    def __init__(self, config: Any, state: Mapping[str, Any] | None) -> None:
        self._task, self._seed = config.task, config.seed
        self._curriculum = StagedCurriculum(curriculum_config(config), config.seed, state)

    @property
    def picks(self) -> str:
        return f"farther levels as nearer ones are solved, at the end of a distance up to {self._curriculum.distance}"

    def task(self, index: int) -> Task:
        options = self._curriculum.options(index)
        return sample_task(self._task.game, "train", index, 10 * self._seed + TRAINING, options, self._task.max_steps)

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        self._curriculum.update(trajectories)
        return {"distance": self._curriculum.distance}

    def state(self) -> dict[str, Any]:
        return self._curriculum.state()


def tasks(config: Any, split: str, stream: int, count: int, distances: tuple[int, int]) -> list[Task]:
    """`count` tasks of one stream; distances are drawn evenly. Streams of a seed never share a level."""
    drawn = np.random.default_rng((config.seed, stream)).integers(distances[0], distances[1] + 1, count)
    return [
        sample_task(
            config.task.game,
            split,
            index,
            10 * config.seed + stream,
            {"distance": [int(distance), int(distance)]},
            config.task.max_steps,
        )
        for index, distance in enumerate(drawn)
    ]
