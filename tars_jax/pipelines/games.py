"""Several games at once, benchmarks' among them, as tasks for the stages; those with levels have the same ones.

Levels of every game are drawn from `config.levels`: evenly for demonstrations and evaluation, by recent success while
PPO trains (`FrontierCurriculum`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.environment import Task
from tars_jax.envs.registry import load_environment
from tars_jax.pipelines.game_names import game_members, is_game
from tars_jax.pipelines.mixture import MixedTasks, mixture_of, part_names, states_of_parts
from tars_jax.pipelines.task_provider import TRAINING, VALUE, EvenSets, TaskStream
from tars_jax.rollout.config import WHOLE, Share
from tars_jax.rollout.curriculum import UNCERTAIN, FrontierCurriculum
from tars_jax.tasks.games.succession import LEVEL_REWARDS, NEXT_LEVELS, OPTIONS
from tars_jax.tasks.library import has_levels, load_playable, members
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Step, Trajectory


class Games(EvenSets):
    """Several games, each with the same levels; tasks take turns between the games. In a mixture each of `config.games`
    is a part, which may be a collection: tasks take turns between the parts, and in each between its games."""

    def __init__(self, config: Any) -> None:
        self._config, self.names = config, game_members(config.games)
        parts = [members(name) for name in config.games]
        places = {name: number for number, part in enumerate(parts) for name in part}
        self.mixture = mixture_of(
            config, part_names([(name, {}) for name in config.games]), lambda task: places[task["environment"]]
        )
        self._parts = [self.names] if self.mixture is None else parts

    @property
    def has_reference(self) -> bool:
        return all(load_environment(name, {}).reference is not None for name in self.names)

    def training(self, state: Mapping[str, Any] | None) -> TaskStream:
        if self.mixture is None:
            return FrontierGames(self._config, self.names, state)
        states = states_of_parts(state, len(self._parts))
        streams = [
            FrontierGames(self._config, names, its, Share(part, len(self._parts)))
            for part, (names, its) in enumerate(zip(self._parts, states, strict=True))
        ]
        return MixedTasks(self.mixture, streams)

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        verdict = step.info["verdict"]
        level = verdict["level"] if "solved" in verdict else task["options"].get("level")
        return task["environment"], level, verdict["score"]

    def probes(self, name: str, count: int) -> list[Task]:
        """Some tasks of one of the names."""
        options = kinds_of(name, self._config.levels)[-1]
        return [draw_task(self._config, name, "train", VALUE, index, options) for index in range(count)]

    def _even(self, split: str, stream: int, count: int) -> list[Task]:
        config = self._config
        levels = np.random.default_rng((config.seed, stream)).choice(config.levels, count)
        turns = (divmod(index, len(self._parts)) for index in range(count))
        games = [self._parts[part][turn % len(self._parts[part])] for turn, part in turns]
        return [
            draw_task(config, game, split, stream, index, kinds_of(game, [int(level)])[0])
            for index, (game, level) in enumerate(zip(games, levels, strict=True))
        ]


class FrontierGames:
    """Games in turn; of each game more often the levels whose outcome is uncertain. Of the whole stream, or of one
    part, which is the `share` of its numbers."""

    def __init__(
        self, config: Any, names: Sequence[str], state: Mapping[str, Any] | None, share: Share = WHOLE
    ) -> None:
        self._config, self._names, self._share = config, names, share
        self._curricula = {
            game: FrontierCurriculum(
                kinds_of(game, config.levels), config.seed, state[game] if state else None, kind_of=_kind_of
            )
            for game in names
        }

    @property
    def picks(self) -> str:
        choice = any(len(kinds_of(game, self._config.levels)) > 1 for game in self._names)
        return UNCERTAIN if choice else ""

    def task(self, index: int) -> Task:
        """The next of its own: number `index` of them."""
        game, number = self._names[index % len(self._names)], self._share.number + index * self._share.of
        return draw_task(self._config, game, "train", TRAINING, number, self._curricula[game].options(number))

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """The success in each game, of episodes of several levels their score, too, and the mean level of its next
        tasks."""
        metrics: dict[str, float] = {}
        for game, curriculum in self._curricula.items():
            name, played = load_playable(game).name, of_game(trajectories, game)
            curriculum.update(played)
            if played:
                metrics[f"{name}_success"] = float(np.mean([trajectory.succeeded for trajectory in played]))
                if several_levels(self._config) and is_game(game):
                    metrics[f"{name}_score"] = mean_score(played)
            if has_levels(game):
                metrics[f"{name}_level"] = float(curriculum.shares @ np.array(self._config.levels))
        return metrics

    def state(self) -> dict[str, Any]:
        return {game: curriculum.state() for game, curriculum in self._curricula.items()}


def kinds_of(game: str, levels: Sequence[int]) -> list[dict[str, Any]]:
    """The options of its tasks: one for each level, where it has levels."""
    return [{"level": level} for level in levels] if has_levels(game) else [{}]


def _kind_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of `kinds_of` of a task's record: whether levels follow each other is the same for all."""
    return {name: value for name, value in task["options"].items() if name not in OPTIONS}


def several_levels(config: Any) -> dict[str, bool]:
    """The options of games whose solved level is followed by the next one, as `config.task` says; none where it says
    nothing of it."""
    if NEXT_LEVELS not in config.get("task", {}) or not config.task.next_levels:
        return {}
    return {NEXT_LEVELS: True, LEVEL_REWARDS: config.task.level_rewards}


def draw_task(config: Any, game: str, split: str, stream: int, index: int, options: dict[str, Any]) -> Task:
    """A task whose budget is its level's, at most `config.task.max_steps`; that one for several levels."""
    options = {**options, **(several_levels(config) if is_game(game) else {})}
    steps = min(config.task.max_steps, load_playable(game).steps_for(options))
    if NEXT_LEVELS in options:
        steps = config.task.max_steps
    return sample_task(game, split, index, 10 * config.seed + stream, options, steps)


def mean_score(trajectories: Sequence[Trajectory]) -> float:
    """Mean score of one or more episodes, as the game counts."""
    return float(np.mean([trajectory.metadata["final"]["verdict"]["score"] for trajectory in trajectories]))


def of_game(trajectories: Sequence[Trajectory], game: str) -> list[Trajectory]:
    return [trajectory for trajectory in trajectories if trajectory.task["environment"] == game]
