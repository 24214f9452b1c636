"""A test of merging: specialists of two games, trained from one start, become one agent that plays both.

1. demonstrations: reference players of each game;
2. start: a policy from scratch on the demonstrations of all games together;
3. a specialist of each game: the start, trained on with demonstrations of that game alone;
4. merges of the specialists, for several weights (equation 5 of the UI-TARS-2 report);
5. the start, the specialists and the merges on the same held-out levels of every game; then result.json.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

import json
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.evaluation.specialists import (
    Successes,
    against_specialists,
    mean_success,
    sentences,
    table_lines,
)
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.stages import supervise
from tars_jax.rollout.players import reference_player
from tars_jax.tasks.sampling import sample_task
from tars_jax.training.checkpoint import load_parameters
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

STREAMS = {"start": 0, "evaluation": 1, "specialist": 2}  # no two share a level


def run(config: Any, run_directory: RunDirectory) -> None:
    games = tuple(config.games)
    if len(games) != 2:
        raise InputError(f"config.games must be two games; got {', '.join(games)}")
    with RunContext(config, run_directory) as context:
        demonstrations = {game: collect(context, game, "start") for game in games}
        together = [trajectory for game in games for trajectory in demonstrations[game]]
        supervise(context, "start", together, config.start)
        for game in games:
            supervise(
                context, game, collect(context, game, "specialist"), config.specialist, parent=context.path / "start"
            )
        agents = ["start", *games, *(merge(context, games, weight) for weight in config.merges)]
        successes = {agent: {game: evaluate(context, agent, game) for game in games} for agent in agents}
        finish(context, successes)


def tasks(context: RunContext, game: str, stream: str, split: str, count: int) -> list[Task]:
    options = context.config.games[game].to_dict()
    steps = options.pop("max_steps")
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    number = 10 * context.config.seed + STREAMS[stream]
    return [sample_task(game, split, index, number, options, steps) for index in range(count)]


def collect(context: RunContext, game: str, stream: str) -> list[Trajectory]:
    """Demonstrations of a game for the start or for its specialist."""
    config = context.config.demonstrations
    player = reference_player(context.writer, context.config.agent.grammar, config.skill)
    stage = f"demonstrations_{stream}_{game}"
    found = context.play(stage, tasks(context, game, stream, "train", config[stream]), player, compiles=False)
    context.record(stage, {"episodes": len(found), "success": sum(each.succeeded for each in found) / len(found)})
    return found


def merge(context: RunContext, games: tuple[str, ...], weight: float) -> str:
    """The specialists merged, `weight` of the first; returns the agent's name."""
    agent = f"merged_{weight:g}"
    if context.run.finished(agent) is None:
        merge_checkpoints([context.path / game for game in games], context.path / agent, (weight, 1 - weight))
        context.record(agent, {"weights": (weight, 1 - weight)})
    return agent


def evaluate(context: RunContext, agent: str, game: str) -> tuple[int, int]:
    """Successes and episodes on the game's held-out levels, the same and with the same random streams for all."""
    context.sync_weights(load_parameters(context.path / agent, context.parameters), 0)
    held_out = tasks(context, game, "evaluation", "eval", context.config.evaluation_episodes)
    stage = f"{agent}_on_{game}"
    found = context.play(stage, held_out, context.policy_player(), evaluation=True)
    successes = sum(each.succeeded for each in found)
    context.record(stage, {"successes": successes, "episodes": len(found)})
    return successes, len(found)


def finish(context: RunContext, successes: Successes) -> None:
    """The table, on the terminal and in result.json, and how each merge compares to each game's specialist."""
    over = against_specialists(successes, [agent for agent in successes if agent.startswith("merged_")])
    print("\n".join([*table_lines(successes), *sentences(over, "game")]))
    stages = [context.run.finished(stage) or {} for stage in _stages(context, successes)]
    result = {
        "successes": successes,
        "mean": {agent: mean_success(scores) for agent, scores in successes.items()},
        "against_specialist": {
            agent: {game: each._asdict() for game, each in found.items()} for agent, found in over.items()
        },
        "minutes": sum(stage.get("seconds", 0.0) for stage in stages) / 60,
        "seed": context.config.seed,
    }
    write_json(context.path / "result.json", result)
    print(json.dumps(result["mean"]))


def _stages(context: RunContext, successes: Successes) -> list[str]:
    games = tuple(context.config.games)
    played = [f"{agent}_on_{game}" for agent in successes for game in games]
    shown = [f"demonstrations_{stream}_{game}" for stream in ("start", "specialist") for game in games]
    return [*shown, *successes, *played]
