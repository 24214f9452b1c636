"""A benchmark suite, played by any policy; then tables, the curve of score against step budget, and result.json.

1. played: every task of the suite, by the contestant;
2. reference: the same levels by the reference players of the games, whose score is 100 (games15 alone);
3. report.md, budget.svg and result.json; of a run whose episodes were all lost to the infrastructure result.json alone,
   and it exits 1.

Episodes are kept one by one: a run that was killed plays only those that it lacks.
"""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.grammar import FORMS
from tars_jax.environment import Task
from tars_jax.evaluation.budgets import draw_budgets, step_budgets
from tars_jax.evaluation.figures import save_figure
from tars_jax.evaluation.lmgame import reported_score
from tars_jax.evaluation.scoring import estimate_mean, normalize, score_within, solved_within
from tars_jax.evaluation.statistics import Estimate, wilson_interval
from tars_jax.evaluation.suites import suite_names, suite_tasks, unplayed_names
from tars_jax.evaluation.tables import budget_table, games_table, lmgame_table, success_table
from tars_jax.files import write_atomic
from tars_jax.pipelines.contestants import Contestant, open_contestant, scripted
from tars_jax.pipelines.sections import sandbox_of
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rules import at_least, each, more_than, one_of
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.library import SUITES, load_playable
from tars_jax.tasks.lmgame.catalog import sokoban_levels
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.folders import mark_evaluation

RULES = {
    "suite": one_of(*SUITES),
    "levels": each(at_least(1)),
    "episodes": at_least(1),
    "max_steps": at_least(1),
    "answer_seconds": more_than(0),
    "patience": more_than(0),
    "seed": at_least(0),
    "screen": at_least(0),
    "agent.grammar": one_of(*FORMS),
    "agent.coordinates": one_of("grid", "pixels"),
    "browser.browsers": at_least(1),
    "browser.pages": at_least(1),
}
NOTE = {
    "games15": "Columns marked (paper) are carried over from the UI-TARS-2 report, table 2, normalized to its human "
    "player on its own games; ours are normalized to the reference player of our games, on the same levels.",
    "lmgame": "The column marked (paper) is carried over from the UI-TARS-2 report, table 3. Scores are what "
    "LMGame-Bench reports of each episode: of 2048 it is 10 log2 of the merged tiles, and nothing counts after so many "
    "steps without a change that it would have ended. It plays three runs of at most 1,000 steps of 2048, 50 moves of "
    "Candy Crush, 200 steps of Sokoban and 2,000 of Tetris.",
    "miniwob": "Rewards as MiniWoB++ computes them; success is the whole raw reward, and partial credit is none. "
    "Where a page measures how near an answer is, near enough is success.",
}

SOKOBAN = "lmgame/sokoban"

Episodes = Mapping[str, Sequence[Trajectory]]  # name -> its episodes, in the order of its tasks


def run(config: Any, run_directory: RunDirectory) -> int:
    names = suite_names(config.suite, config.names)
    check_references(config.suite, config.checkpoint, names)
    tasks = {name: suite_tasks(name, config.episodes, config.levels, config.seed, config.max_steps) for name in names}
    if config.sokoban_levels:
        if SOKOBAN not in tasks:
            raise InputError(
                f"config.sokoban_levels must be empty where {SOKOBAN} is not played; got {config.sokoban_levels!r}"
            )
        levels = {"levels": sokoban_levels(Path(config.sokoban_levels))}
        tasks[SOKOBAN] = [dataclasses.replace(task, options=levels) for task in tasks[SOKOBAN]]
    with open_contestant(config) as contestant:
        played = play(config, run_directory, "played", contestant, tasks)
    references: Episodes = {}
    if config.suite == "games15":
        # Where an episode was lost to the infrastructure, its level is lost to both sides.
        references = play(config, run_directory, "reference", scripted("reference", config), tasks)
        played, references = common(played, references)
    return finish(config, run_directory, played, references)


def check_references(suite: str, checkpoint: str, names: Sequence[str]) -> None:
    """Raises `InputError`, before any browser starts, where reference players are to play what has none."""
    if checkpoint == "reference" or suite == "games15":
        for name in names:
            try:
                _ = load_playable(name).reference
            except InputError as error:
                if checkpoint == "reference":
                    raise InputError(f"config.checkpoint must not be reference, as {error}") from None
                raise InputError(f"config.names must be of games with reference players, the scale: {error}") from None


def play(
    config: Any, run_directory: RunDirectory, stage: str, contestant: Contestant, tasks: Mapping[str, Sequence[Task]]
) -> dict[str, list[Trajectory]]:
    """All episodes of the suite, page size by page size."""
    sizes: dict[tuple[int, int], list[Task]] = {}
    for name, some in tasks.items():
        size = load_playable(name).page_size or (contestant.screen, contestant.screen)
        sizes.setdefault(size, []).extend(some)
    progress = Progress(stage, sum(map(len, sizes.values())), "episodes", compiles=contestant.compiles)
    played: dict[str, list[Trajectory]] = {name: [] for name in tasks}
    earlier = 0
    for (width, height), some in sizes.items():
        pages = min(config.browser.pages, len(some))
        browsers = min(config.browser.browsers, pages)
        browser = BrowserConfig(
            browsers=browsers, pages_per_browser=-(-2 * pages // browsers), width=width, height=height
        )
        folder = run_directory.path / "trajectories" / f"{stage}-{width}x{height}"
        mark_evaluation(folder)

        def on_finish(done: int, trajectory: Trajectory, before: int = earlier) -> None:
            if not trajectory.outcome.carries_reward:
                reason = trajectory.cannot_say or trajectory.metadata["infrastructure_failures"][-1]
                print(f"{stage}: episode {trajectory.id} is lost: {reason:.500}", flush=True)
            progress.update(before + done)

        with Rollouts(
            browser, contestant.writer, contestant.agent, workers=pages, sandbox=sandbox_of(config)
        ) as rollouts:
            for trajectory in rollouts.play(some, contestant.player, folder, on_finish):
                played[trajectory.task["environment"]].append(trajectory)
        earlier += len(some)
    return played


def common(played: Episodes, references: Episodes) -> tuple[dict[str, list[Trajectory]], dict[str, list[Trajectory]]]:
    """The episodes of both sides on the levels that both have, in one order."""
    sides: tuple[dict[str, list[Trajectory]], dict[str, list[Trajectory]]] = ({}, {})
    for name in played:
        by_id = [{trajectory.task["id"]: trajectory for trajectory in side[name]} for side in (played, references)]
        both = [each for each in by_id[0] if each in by_id[1]]
        for kept, found in zip(sides, by_id, strict=True):
            kept[name] = [found[each] for each in both]
    return sides


def finish(config: Any, run_directory: RunDirectory, played: Episodes, references: Episodes) -> int:
    wanted = config.episodes * len(played)
    lost = wanted - sum(map(len, played.values()))
    result: dict[str, Any] = {"suite": config.suite, "checkpoint": config.checkpoint, "seed": config.seed}
    missing = [name for name, episodes in played.items() if not episodes]
    played = {name: episodes for name, episodes in played.items() if episodes}
    if not played:
        write_json(run_directory.path / "result.json", result | {"lost_to_infrastructure": lost})
        print(f"nothing was measured: all {wanted} episodes were lost to the infrastructure; start another run")
        return 1
    declined = collections.Counter(
        str(episode.metadata["declined"]).partition(":")[0]
        for episodes in played.values()
        for episode in episodes
        if "declined" in episode.metadata
    )
    most = config.max_steps
    raw = {name: estimate_mean(scores(episodes, most)) for name, episodes in played.items()}
    solved = {name: sum(solved_within(episode, most) for episode in episodes) for name, episodes in played.items()}
    result |= {
        "raw": {name: each._asdict() for name, each in raw.items()},
        "successes": {name: (solved[name], len(episodes)) for name, episodes in played.items()},
        "lost_to_infrastructure": lost,
        "declined": dict(declined),
    }
    note = NOTE[config.suite]
    match config.suite:
        case "games15":
            reference = {name: scores(references[name], most) for name in played}
            scaled = {name: each for name, each in played.items() if sum(reference[name]) > 0}
            if not scaled:
                write_json(run_directory.path / "result.json", result)
                raise InputError(
                    f"config.max_steps is {most}, in which no reference player scored: there is no scale; raw scores "
                    f"are in {run_directory.path / 'result.json'}."
                )
            if without := [name for name in played if name not in scaled]:
                note += f" Without a scale, as the reference scored nothing, and in no mean: {', '.join(without)}."
            curve = {
                budget: normalize({name: scores(each, budget) for name, each in scaled.items()}, reference)[1]
                for budget in step_budgets(most)
            }
            normal, mean = normalize({name: scores(each, most) for name, each in scaled.items()}, reference)
            table = games_table(raw, {name: estimate_mean(each) for name, each in reference.items()}, normal, mean)
            unit = "mean normalized score"
            result |= {"mean_normalized_score": mean._asdict()}
            result |= {"normalized": {name: each._asdict() for name, each in normal.items()}}
        case "lmgame":
            curve = {budget: _mean_reported(played, budget) for budget in step_budgets(most)}
            unplayed = () if config.names else unplayed_names(config.suite)
            reported = {
                name: estimate_mean([reported_score(episode, most) for episode in episodes])
                for name, episodes in played.items()
            }
            if SOKOBAN in played:
                note += f" The levels of Sokoban are {Path(config.sokoban_levels).name or 'ours'}."
            table, unit = lmgame_table(reported, raw, unplayed), "mean score"
            result |= {"reported": {name: each._asdict() for name, each in reported.items()}}
            if unplayed:
                note += f" Not played, as each needs a ROM that you own: {', '.join(unplayed)}."
        case _:
            rewards = {name: estimate_mean([each.reward for each in episodes]) for name, episodes in played.items()}
            table = success_table(rewards, {name: (solved[name], len(played[name])) for name in played})
            curve = {budget: _success(played, budget) for budget in step_budgets(most)}
            unit = "success, %"
    result |= {"step_budgets": {str(budget): each._asdict() for budget, each in curve.items()}}
    write_json(run_directory.path / "result.json", result)
    save_figure(draw_budgets(curve, unit, f"{config.suite}, {config.checkpoint}"), run_directory.path / "budget.svg")
    steps = budget_table(curve, unit)
    if lost:
        whole = f", among them all of {', '.join(missing)}" if missing else ""
        note += f" {lost} of {wanted} episodes were lost to the infrastructure and count nowhere{whole}."
    if declined:
        reasons = ", ".join(f"{count} with {reason}" for reason, count in declined.most_common())
        note += f" {declined.total()} of {wanted} episodes ended where the policy's endpoint took no more: {reasons}."
    page = (
        f"# {config.suite}, played by {config.checkpoint}\n\n{config.episodes} episodes of each, at most {most} steps, "
        f"seed {config.seed}; 95% intervals in brackets.\n\n{table}\n\n{note}\n\n"
        f"## Score against step budget\n\n{steps}\n\n![score against step budget](budget.svg)\n"
    )
    write_atomic(run_directory.path / "report.md", page.encode())
    print(f"{table}\n\n{note}\n\n{steps}")
    print(json.dumps({name: result[name] for name in ("suite", "checkpoint", "seed", "lost_to_infrastructure")}))
    print(f"report: {run_directory.path / 'report.md'}")
    return 0


def scores(episodes: Sequence[Trajectory], budget: int) -> list[float]:
    return [score_within(episode, budget) for episode in episodes]


def _mean_reported(played: Episodes, budget: int) -> Estimate:
    return estimate_mean([reported_score(episode, budget) for episodes in played.values() for episode in episodes])


def _success(played: Episodes, budget: int) -> Estimate:
    solved = [solved_within(episode, budget) for episodes in played.values() for episode in episodes]
    low, high = wilson_interval(sum(solved), len(solved))
    return Estimate(100 * sum(solved) / len(solved), 100 * low, 100 * high)
