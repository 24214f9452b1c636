"""Merging on trial: specialists of two games, trained from one start, become one agent that plays both.

1. demonstrations: reference players of each game;
2. start: a policy from scratch on the demonstrations of all games together;
3. a specialist of each game: the start, trained on with demonstrations of that game alone;
4. merges of the specialists, for several weights (equation 5 of the UI-TARS-2 report);
5. the start, the specialists and the merges on the same held-out levels of every game; then result.json.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from experiments.config import Rule, at_least, between, each, more_than
from experiments.job_config import FLEET_RULES
from experiments.lab import Lab
from experiments.stages import supervise
from tars_jax import InputError
from tars_jax.evaluation import success_difference, wilson_interval
from tars_jax.rollout.players import reference_player
from tars_jax.tasks.sampling import sample_task
from tars_jax.tasks.task import Task
from tars_jax.training.checkpoint import load_parameters
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

RULES = {
    **FLEET_RULES,
    "seed": at_least(0),
    "merges": each(Rule(lambda weight: 0 < weight < 1, "a weight of the first game's specialist between 0 and 1")),
    "evaluation_episodes": at_least(1),
    "demonstrations.start": at_least(1),
    "demonstrations.specialist": at_least(1),
    "demonstrations.skill": between(0, 1),
    "start.updates": at_least(1),
    "start.learning_rate": more_than(0),
    "specialist.updates": at_least(1),
    "specialist.learning_rate": more_than(0),
    "browser.browsers": at_least(1),
    "browser.pages": at_least(1),
}
STREAMS = {"start": 0, "evaluation": 1, "specialist": 2}  # no two share a level

Successes = dict[str, dict[str, tuple[int, int]]]  # agent -> game -> successes, episodes


def run(config: Any, run_directory: RunDirectory) -> None:
    games = tuple(config.games)
    if len(games) != 2:
        raise InputError(f"config.games has {len(games)} games, {', '.join(games)}; it takes two.")
    with Lab(config, run_directory) as lab:
        demonstrations = {game: collect(lab, game, "start") for game in games}
        together = [trajectory for game in games for trajectory in demonstrations[game]]
        supervise(lab, "start", together, config.start)
        for game in games:
            supervise(lab, game, collect(lab, game, "specialist"), config.specialist, parent=lab.path / "start")
        agents = ["start", *games, *(merge(lab, games, weight) for weight in config.merges)]
        successes = {agent: {game: evaluate(lab, agent, game) for game in games} for agent in agents}
        finish(lab, successes)


def tasks(lab: Lab, game: str, stream: str, split: str, count: int) -> list[Task]:
    options = lab.config.games[game].to_dict()
    steps = options.pop("max_steps")
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    number = 10 * lab.config.seed + STREAMS[stream]
    return [sample_task(game, split, index, number, options, steps) for index in range(count)]


def collect(lab: Lab, game: str, stream: str) -> list[Trajectory]:
    """Demonstrations of a game for the start or for its specialist."""
    config = lab.config.demonstrations
    player = reference_player(lab.writer, lab.config.agent.grammar, config.skill)
    stage = f"demonstrations_{stream}_{game}"
    found = lab.play(stage, tasks(lab, game, stream, "train", config[stream]), player)
    lab.record(stage, {"episodes": len(found), "success": sum(each.solved for each in found) / len(found)})
    return found


def merge(lab: Lab, games: tuple[str, ...], weight: float) -> str:
    """The specialists merged, `weight` of the first; returns the agent's name."""
    agent = f"merged_{weight:g}"
    if lab.run.finished(agent) is None:
        merge_checkpoints([lab.path / game for game in games], lab.path / agent, (weight, 1 - weight))
        lab.record(agent, {"weights": (weight, 1 - weight)})
    return agent


def evaluate(lab: Lab, agent: str, game: str) -> tuple[int, int]:
    """Successes and episodes on the game's held-out levels, the same and with the same random streams for all."""
    lab.hand_over(load_parameters(lab.path / agent, lab.parameters), 0)
    held_out = tasks(lab, game, "evaluation", "eval", lab.config.evaluation_episodes)
    stage = f"{agent}_on_{game}"
    found = lab.play(stage, held_out, lab.policy_player())
    successes = sum(each.solved for each in found)
    lab.record(stage, {"successes": successes, "episodes": len(found)})
    return successes, len(found)


def finish(lab: Lab, successes: Successes) -> None:
    """The table, on the terminal and in result.json, and how each merge compares to each game's specialist."""
    games = tuple(lab.config.games)
    print(f"{'agent':24}" + "".join(f"{game:>30}" for game in games) + f"{'mean':>8}")
    for agent, scores in successes.items():
        columns = "".join(f"{_shown(scores[game]):>30}" for game in games)
        print(f"{agent:24}{columns}{_mean(scores):8.1%}")
    differences = {
        agent: {game: success_difference(successes[game][game], successes[agent][game]) for game in games}
        for agent in successes
        if agent.startswith("merged_")
    }
    for agent, over in differences.items():
        said = ", ".join(
            f"{100 * each.value:+.1f} points [{100 * each.low:.0f}, {100 * each.high:.0f}] on {game}"
            for game, each in over.items()
        )
        print(f"{agent} against the specialist of each game: {said}")
    stages = [lab.run.finished(stage) or {} for stage in _stages(lab, successes)]
    result = {
        "successes": successes,
        "mean": {agent: _mean(scores) for agent, scores in successes.items()},
        "against_specialist": {
            agent: {game: each._asdict() for game, each in over.items()} for agent, over in differences.items()
        },
        "minutes": sum(stage.get("seconds", 0.0) for stage in stages) / 60,
        "seed": lab.config.seed,
    }
    write_json(lab.path / "result.json", result)
    print(json.dumps(result["mean"]))


def _stages(lab: Lab, successes: Successes) -> list[str]:
    games = tuple(lab.config.games)
    played = [f"{agent}_on_{game}" for agent in successes for game in games]
    shown = [f"demonstrations_{stream}_{game}" for stream in ("start", "specialist") for game in games]
    return [*shown, *successes, *played]


def _shown(score: tuple[int, int]) -> str:
    low, high = wilson_interval(*score)
    return f"{score[0] / score[1]:.1%} [{100 * low:.0f}, {100 * high:.0f}]"


def _mean(scores: Mapping[str, tuple[int, int]]) -> float:
    return sum(successes / episodes for successes, episodes in scores.values()) / len(scores)
