"""One agent learns several games at once, then report.html with a curve and a score for each game.

Levels of every game are drawn from `config.levels`: evenly for demonstrations and evaluation, by recent success while
PPO trains (`FrontierCurriculum`).
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.agent_job import Evaluated, summary, train_agent
from experiments.config import Rule, at_least, command_of, each
from experiments.job_config import JOB_RULES, check
from experiments.lab import Lab
from experiments.work import DEMONSTRATIONS, HELD_OUT, PRACTICE, TRAINING, VALUE
from tars_jax.evaluation import (
    DEFAULT_CURVES,
    Curve,
    ReportData,
    Score,
    Series,
    success_difference,
    verdict,
    write_report,
)
from tars_jax.rollout.curriculum import FrontierCurriculum
from tars_jax.tasks.games.catalog import game_names
from tars_jax.tasks.library import load_playable
from tars_jax.tasks.sampling import sample_task
from tars_jax.tasks.task import Task
from tars_jax.training.metrics import read_metrics
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Step, Trajectory


def is_game(name: str) -> bool:
    return name in game_names() or Path(name, "game.json").is_file()


def are_told_apart(names: Sequence[str]) -> bool:
    """By their own names, under which a run keeps what it measures: two folders may hold games of one name."""
    return len({load_playable(name).name for name in names}) == len(names)


PROCESSES = "many"
RULES = JOB_RULES | {
    "games": Rule(
        lambda names: names and all(map(is_game, names)) and are_told_apart(names),
        f"different ones of {', '.join(game_names())}, and folders of synthesised games, no two of one name",
    ),
    "levels": each(at_least(1)),
    "task.max_steps": at_least(1),
}


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    with Lab(config, run_directory) as lab:
        evaluated = train_agent(lab, Games(lab.config))
        if run_directory.leads:
            finish(lab, evaluated)


class Games:
    """Several games, each with the same levels; tasks take turns between the games."""

    def __init__(self, config: Any) -> None:
        self._config = config

    def demonstrations(self, count: int) -> list[Task]:
        return self._even("train", DEMONSTRATIONS, count)

    def value_episodes(self, count: int) -> list[Task]:
        return self._even("train", VALUE, count)

    def practice(self, count: int) -> list[Task]:
        return self._even("train", PRACTICE, count)

    def held_out(self, count: int) -> list[Task]:
        return self._even("eval", HELD_OUT, count)

    def training(self, state: Mapping[str, Any] | None) -> FrontierGames:
        return FrontierGames(self._config, state)

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return task["game"], task["options"]["level"], step.info["state"]["score"]

    def _even(self, split: str, stream: int, count: int) -> list[Task]:
        config = self._config
        levels = np.random.default_rng((config.seed, stream)).choice(config.levels, count)
        turns = [config.games[index % len(config.games)] for index in range(count)]
        return [
            draw(config, game, split, stream, index, {"level": int(level)})
            for index, (game, level) in enumerate(zip(turns, levels, strict=True))
        ]


class FrontierGames:
    """Games in turn; of each game more often the levels whose outcome is uncertain."""

    def __init__(self, config: Any, state: Mapping[str, Any] | None) -> None:
        self._config = config
        kinds = [{"level": level} for level in config.levels]
        self._curricula = {
            game: FrontierCurriculum(kinds, config.seed, state[game] if state else None) for game in config.games
        }

    def task(self, index: int) -> Task:
        game = self._config.games[index % len(self._config.games)]
        return draw(self._config, game, "train", TRAINING, index, self._curricula[game].options(index))

    def saw(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """The success in each game, and the mean level of its next tasks."""
        metrics: dict[str, float] = {}
        for game, curriculum in self._curricula.items():
            played = of_game(trajectories, game)
            curriculum.saw(played)
            if played:
                metrics[f"{load_playable(game).name}_success"] = float(
                    np.mean([trajectory.solved for trajectory in played])
                )
            metrics[f"{load_playable(game).name}_level"] = float(curriculum.shares @ np.array(self._config.levels))
        return metrics

    def state(self) -> dict[str, Any]:
        return {game: curriculum.state() for game, curriculum in self._curricula.items()}


def draw(config: Any, game: str, split: str, stream: int, index: int, options: dict[str, Any]) -> Task:
    """A task whose budget is its level's, at most `config.task.max_steps`."""
    steps = min(config.task.max_steps, load_playable(game).steps_of_level(options["level"]))
    return sample_task(game, split, index, 10 * config.seed + stream, options, steps)


def of_game(trajectories: Sequence[Trajectory], game: str) -> list[Trajectory]:
    return [trajectory for trajectory in trajectories if trajectory.task["game"] == game]


def finish(lab: Lab, evaluated: Evaluated) -> None:
    """The table of games, on the terminal and in result.json; and report.html."""
    scores = []
    for game in lab.config.games:
        before, after = (of_game(side, game) for side in (evaluated.before, evaluated.after))
        scores.append(Score(load_playable(game).title, successes(before), successes(after)))
    result = summary(lab, evaluated) | {
        "games": {
            game: {
                "before": score.before,
                "after": score.after,
                "difference": success_difference(score.before, score.after)._asdict(),
            }
            for game, score in zip(lab.config.games, scores, strict=True)
        }
    }
    write_json(lab.path / "result.json", result)
    report = write_report(
        lab.path,
        ReportData(
            title="Several games, one agent",
            subtitle="A nano agent, trained from scratch on all of them together, in a real Chromium",
            result={name: value for name, value in result.items() if name != "games"},
            scores=scores,
            metrics=read_metrics(lab.path / "metrics.jsonl"),
            before=evaluated.before,
            after=evaluated.after,
            curves=[*game_curves(lab.config.games), *DEFAULT_CURVES],
            config=lab.config.to_dict(),
            command=command_of("games", lab.config),
        ),
    )
    print("\n".join(score.line() for score in scores))
    print(verdict(result)[1])
    print(json.dumps(result))
    print(f"report: {report}   curves: tensorboard --logdir {lab.path / 'tensorboard'}")


def successes(trajectories: Sequence[Trajectory]) -> tuple[int, int]:
    """(solved, played)"""
    return sum(trajectory.solved for trajectory in trajectories), len(trajectories)


def game_curves(games: Sequence[str]) -> list[Curve]:
    """Success in each game over training, as in figure 13 of the UI-TARS-2 report."""
    return [
        Curve(
            "Each game while PPO trains",
            load_playable(game).title,
            (Series("ppo", f"{load_playable(game).name}_success"),),
            "solved, of the game's episodes in a batch",
            percent=True,
        )
        for game in games
    ]
