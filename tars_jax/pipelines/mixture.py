"""Mixture of a batch: parts of `config.mixture.weights`, each with tasks and a curriculum of its own.

Group n of the stream is of part n mod P, as the pool of a mixture has it (`tars_jax.rollout.mixed_pool`), and there it
is number n div P.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.pipelines.task_provider import TaskProvider, TaskStream
from tars_jax.training import processes
from tars_jax.trajectory import Trajectory

LONGEST_WORD = 24  # of an option's value in the name of a part


@dataclasses.dataclass(frozen=True)
class Mixture:
    """The parts of a batch, by their names, and the part of a task by its record."""

    weights: Mapping[str, float]
    part_of: Callable[[Mapping[str, Any]], int]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.weights)

    def parts_of(self, trajectories: Sequence[Trajectory]) -> np.ndarray:
        """[N] int32: the part of each."""
        return np.array([self.part_of(each.task) for each in trajectories], np.int32)


def mixture_of(config: Any, names: Sequence[str], part_of: Callable[[Mapping[str, Any]], int]) -> Mixture | None:
    """The mixture that `config.mixture` asks for, of parts that are there; None where it asks for none.

    Raises InputError where there are not as many weights, or a batch has no group for one of them.
    """
    weights = tuple(config.get("mixture", {}).get("weights", ()))
    if not weights:
        return None
    if len(weights) != len(names):
        numbers = f"{len(names)} number{'s' * (len(names) != 1)}"
        raise InputError(f"mixture.weights must be {numbers}, one for each of {', '.join(names)}; got {weights}")
    if config.ppo.min_batch is not None:
        _require_groups(config.ppo.min_batch // (config.ppo.group_size * processes.count()), names, weights)
    return Mixture(dict(zip(names, weights, strict=True)), part_of)


def mixture_in(provider: TaskProvider) -> Mixture | None:
    """The provider's mixture; None for one without this attribute."""
    found: Mixture | None = getattr(provider, "mixture", None)
    return found


def fewest_groups(weights: Sequence[float]) -> int:
    """Least number of groups of a batch in which every part has as many as its weight gives it, and one or more."""
    return max(len(weights), *(_rounded_up(sum(weights) / weight) for weight in weights)) if weights else 1


def _rounded_up(value: float) -> int:
    return int(-(-(value - 1e-9) // 1))


def _require_groups(groups: int, names: Sequence[str], weights: Sequence[float]) -> None:
    if groups < fewest_groups(weights):
        least = names[int(np.argmin(weights))]
        raise InputError(
            f"mixture.weights must give each part one of the groups of a batch; got {weights}, of {groups} "
            f"group{'s' * (groups != 1)}, which leaves less than one to {least}"
        )


def part_names(written: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Names of environments, each with options, in metrics and tables.

    An environment without the package that it is of, where that tells it from the others; of its options those that are
    not the same in all that it has.
    """
    names = list(dict.fromkeys(name for name, _ in written))
    short = [Path(name).name if Path(name, "game.json").is_file() else name.rpartition(":")[2] for name in names]
    if len(set(short)) < len(short):
        short = names
    found = []
    for name, called in zip(names, short, strict=True):
        found += [f"{called}{mark}" for mark in _marks([options for each, options in written if each == name])]
    return found


def _marks(every: Sequence[Mapping[str, Any]]) -> list[str]:
    """Marks that tell options of one environment apart, or their numbers."""
    if len(every) == 1:
        return [""]
    keys = dict.fromkeys(key for options in every for key in options)
    telling = [key for key in keys if any(options.get(key) != every[0].get(key) for options in every)]
    marks = ["".join(f".{_word(key, options[key])}" for key in telling if key in options) for options in every]
    return marks if len(set(marks)) == len(marks) and all(marks) else [f".{n}" for n in range(1, len(marks) + 1)]


def _word(name: str, value: Any) -> str:
    said = value if isinstance(value, str) else f"{name}{value}"
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in said)[:LONGEST_WORD]


class MixedTasks:
    """The training tasks of PPO: a stream for each part."""

    def __init__(self, mixture: Mixture, streams: Sequence[TaskStream]) -> None:
        self._mixture, self._streams = mixture, streams

    @property
    def picks(self) -> str:
        return next(filter(None, (stream.picks for stream in self._streams)), "")

    def task(self, index: int) -> Task:
        turn, part = divmod(index, len(self._streams))
        return self._streams[part].task(turn)

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """Metrics of each stream about its own episodes, and the return of each part."""
        parts = self._mixture.parts_of(trajectories)
        metrics = {"return": _mean_return(trajectories)}
        for part, (name, stream) in enumerate(zip(self._mixture.names, self._streams, strict=True)):
            own = [each for each, its in zip(trajectories, parts, strict=True) if its == part]
            if own:
                metrics |= {**stream.update(own), "return": metrics["return"], f"{name}/return": _mean_return(own)}
        return metrics

    def state(self) -> dict[str, Any]:
        return {"parts": [stream.state() for stream in self._streams]}


def states_of_parts(state: Mapping[str, Any] | None, count: int) -> list[Mapping[str, Any] | None]:
    """States of the streams, as `MixedTasks.state` has them."""
    return [None] * count if state is None else list(state["parts"])


def _mean_return(trajectories: Sequence[Trajectory]) -> float:
    return float(np.mean([trajectory.reward for trajectory in trajectories]))
