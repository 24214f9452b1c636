"""A benchmark suite, played: tasks by page size, levels on which those who are the scale score, sides in one order;
and scores of scripted players, to compare an agent with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.environment import Task
from tars_jax.envs.registry import is_playable
from tars_jax.evaluation.scoring import score_within
from tars_jax.pipelines.contestants import Contestant
from tars_jax.pipelines.games import Games, mean_score, of_game
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.sections import browsers_for, sandbox_of
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import person_player, reference_player
from tars_jax.tasks.library import load_playable
from tars_jax.training.progress import Progress
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.folders import mark_evaluation

Tasks = Mapping[str, Sequence[Task]]  # name -> its tasks
Episodes = Mapping[str, Sequence[Trajectory]]  # name -> its episodes, in the order of its tasks
SCALES = ("reference", "person")  # scripted players whose scores stand beside an agent's


def play_suite(
    config: Any, folder: Path, stage: str, contestant: Contestant, tasks: Tasks
) -> dict[str, list[Trajectory]]:
    """All episodes by one contestant, page size by page size, into folders of `folder`; those that are there are read.

    `config`: its sections `browser` and `sandbox` say in how many pages, and where they are.
    """
    sizes: dict[tuple[int, int], list[Task]] = {}
    for name, some in tasks.items():
        own = load_playable(name).page_size if is_playable(name) else None
        sizes.setdefault(own or (contestant.screen, contestant.screen), []).extend(some)
    progress = Progress(stage, sum(map(len, sizes.values())), "episodes", compiles=contestant.compiles)
    played: dict[str, list[Trajectory]] = {name: [] for name in tasks}
    earlier = 0
    for (width, height), some in sizes.items():
        workers = min(config.browser.pages, len(some))
        browser = browsers_for(config, workers, width, height)
        into = folder / f"{stage}-{width}x{height}"
        mark_evaluation(into)

        def on_finish(done: int, trajectory: Trajectory, before: int = earlier) -> None:
            if not trajectory.outcome.carries_reward:
                reason = trajectory.cannot_say or trajectory.metadata["infrastructure_failures"][-1]
                print(f"{stage}: episode {trajectory.id} is lost: {reason:.500}", flush=True)
            progress.update(before + done)

        with Rollouts(
            browser, contestant.writer, contestant.agent, workers=workers, sandbox=sandbox_of(config)
        ) as rollouts:
            for trajectory in rollouts.play(some, contestant.player, into, on_finish):
                played[trajectory.task["environment"]].append(trajectory)
        earlier += len(some)
    return played


def with_scale(
    tasks: Tasks, sides: Sequence[str], play: Callable[[str, str, Tasks], Episodes]
) -> tuple[dict[str, Sequence[Task]], dict[str, dict[str, Sequence[Trajectory]]]]:
    """Tasks on which all `sides` score, and their episodes: where one scores nothing in a game, its levels are played
    one level easier, until each scores or there is no easier one.

    `play(side, stage, tasks)` plays them; stages differ in their names.
    """
    scaled = dict(tasks)
    played = {side: dict(play(side, side, tasks)) for side in sides}
    easier, turn = scaled, 0
    while easier := {
        name: [_easier(task) for task in scaled[name]]
        for name in easier
        if any(_scores_nothing(played[side][name]) for side in sides)
        and any(task.options.get("level", 1) > 1 for task in scaled[name])
    }:
        turn += 1
        scaled |= easier
        for side in sides:
            played[side] |= play(side, f"{side}-easier-{turn}", easier)
    return scaled, played


def common_episodes(sides: Sequence[Episodes]) -> list[dict[str, list[Trajectory]]]:
    """The episodes of all sides on the levels that all of them have, in the first one's order."""
    kept: list[dict[str, list[Trajectory]]] = [{} for _ in sides]
    for name in sides[0]:
        by_id = [{trajectory.task["id"]: trajectory for trajectory in side[name]} for side in sides]
        everywhere = [id for id in by_id[0] if all(id in found for found in by_id)]
        for its, found in zip(kept, by_id, strict=True):
            its[name] = [found[id] for id in everywhere]
    return kept


def _easier(task: Task) -> Task:
    level = max(1, task.options.get("level", 1) - 1)
    return dataclasses.replace(task, id=f"{task.id}-{level}", options={**task.options, "level": level})


def _scores_nothing(episodes: Sequence[Trajectory]) -> bool:
    """Not where all were lost to the infrastructure, which says nothing."""
    return bool(episodes) and not any(score_within(each, each.task["max_steps"]) for each in episodes)


def played_scales(context: RunContext, games: Games, episodes: int) -> dict[str, float]:
    """Scores of the best scripted player of each game, and of one with a person's pace and errors, in `episodes` of the
    held-out tasks of each: SIDE/GAME_score of a result."""
    writer, grammar = context.writer, context.config.agent.grammar
    players = dict(zip(SCALES, (reference_player(writer, grammar, 1.0), person_player(writer, grammar)), strict=True))
    tasks = games.held_out(episodes * len(games.names))
    found: dict[str, float] = {}
    for side, player in players.items():
        played = context.play(side, tasks, player, compiles=False, evaluation=True)
        for name in games.names:
            if its := of_game(played, name):
                found[f"{side}/{load_playable(name).name}_score"] = mean_score(its)
        context.record(side, {"episodes": len(played)})
    return found
