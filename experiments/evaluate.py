"""A benchmark suite, played by any policy; then tables, the curve of score against step budget, and result.json.

1. reference, person: the levels by the best scripted player of each game and by one of a person's pace and errors,
   whose scores are 100 each (games15 alone); where one of them scores nothing, easier levels take their place;
2. played: every task of the suite, by the contestant;
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

import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.evaluation.figures import draw_budgets, save_figure
from tars_jax.evaluation.scoring import (
    SUCCESS_UNIT,
    UNITS,
    estimate_mean,
    normalize,
    reported_score,
    score_at_budget,
    score_within,
    solved_within,
    step_budgets,
)
from tars_jax.evaluation.statistics import Estimate, deviation
from tars_jax.evaluation.suites import (
    roms_given,
    suite_names,
    suite_tasks,
    unplayed_names,
    with_lmgame_harness,
    with_rom_games,
)
from tars_jax.evaluation.tables import budget_table, games_table, lmgame_table, success_table
from tars_jax.files import write_atomic
from tars_jax.pipelines.benchmark_play import evaluate_benchmark
from tars_jax.pipelines.contestants import SCRIPTED, open_contestant, scripted
from tars_jax.pipelines.suite_play import SCALES, Episodes, Tasks, common_episodes, play_suite, with_scale
from tars_jax.tasks.games.catalog import Game
from tars_jax.tasks.library import SUITES, load_playable
from tars_jax.tasks.lmgame.catalog import ACE_ATTORNEY, sokoban_levels
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

OF_BENCHMARKS = ("tasks", "attempts", "time_limit", "interface", "environment_options", "judge", "judge_options")
OF_OURS = ("episodes", "sokoban_levels", "super_mario_bros_rom", "ace_attorney_rom", "gaming_agent")
NOTE = {
    "games15": "Columns marked (paper) are carried over from the UI-TARS-2 report, table 2, normalized to its human "
    "player on its own games; ours are normalized to the best scripted player of each game, and to one of a person's "
    "pace and errors (docs/games.md), on the same levels.",
    "lmgame": "The column marked (paper) is carried over from the UI-TARS-2 report, table 3. Scores are what "
    "LMGame-Bench reports of each episode: of 2048 it is 10 log2 of the merged tiles, and nothing counts after so many "
    "steps without a change that it would have ended. It plays three runs of at most 1,000 steps of 2048, 50 moves of "
    "Candy Crush, 200 steps of Sokoban and 2,000 of Tetris.",
    "miniwob": "Rewards as MiniWoB++ computes them; success is the whole raw reward, and partial credit is none. "
    "Where a page measures how near an answer is, near enough is success.",
}

HARNESS_NOTES = {
    "none": " Played from screenshots alone, without the benchmark's harness.",
    "text": " Played with the board and the last ten moves as text beside the screenshots, as we write them down: no "
    "model reflects on them, as one does in the benchmark's own harness.",
}
SOKOBAN = "lmgame/sokoban"
ACE_NOTE = (
    " Ace Attorney's score is what the policy says that it has read, by the benchmark's rule: no state of the game "
    "confirms it. The benchmark plays it once, of at most 300 steps, and tells evidence and lines as text."
)


def run(config: Any, run_directory: RunDirectory) -> int:
    ours = config.suite in SUITES
    unused = OF_BENCHMARKS if ours else OF_OURS
    if said := [name for name in unused if config[name] not in ("", "{}", 0)]:
        whose = "a benchmark that is read from its own files" if ours else "games15, miniwob and lmgame"
        raise InputError(f"config.{said[0]} must be left out but for {whose}; got {config[said[0]]!r:.100}")
    return play_ours(config, run_directory) if ours else evaluate_benchmark(config, run_directory)


def play_ours(config: Any, run_directory: RunDirectory) -> int:
    fields = ("super_mario_bros_rom", "ace_attorney_rom", "gaming_agent")
    roms = roms_given(config.suite, {field: config[field] for field in fields})
    names = suite_names(config.suite, config.names, roms)
    check_references(config.suite, config.checkpoint, names)
    tasks: Tasks = {
        name: suite_tasks(
            name, config.episodes, config.levels, config.seed, config.max_steps, next_levels=config.next_levels
        )
        for name in names
    }
    if config.sokoban_levels:
        if SOKOBAN not in tasks:
            raise InputError(
                f"config.sokoban_levels must be empty where {SOKOBAN} is not played; got {config.sokoban_levels!r}"
            )
        levels = {"levels": sokoban_levels(Path(config.sokoban_levels))}
        tasks = {**tasks, SOKOBAN: [dataclasses.replace(task, options=levels) for task in tasks[SOKOBAN]]}
    tasks = with_rom_games(tasks, roms, config.episodes, config.seed, config.max_steps)
    tasks = with_lmgame_harness(tasks, config.suite, config.lmgame_harness)

    folder = run_directory.path / "trajectories"

    def scale(side: str, stage: str, some: Tasks) -> Episodes:
        return play_suite(config, folder, stage, scripted(side, config), some)

    longest = max(task.max_steps for some in tasks.values() for task in some)
    with open_contestant(config, longest) as contestant:
        unread = config.checkpoint not in SCRIPTED and not contestant.writer.max_observation_tokens
        if config.lmgame_harness != "none" and unread:
            raise InputError(
                "config.lmgame_harness must be none for a policy that is shown no text, as its "
                f"agent.max_observation_tokens is 0; got {config.lmgame_harness!r}"
            )
        if config.suite != "games15":
            played = play_suite(config, folder, "played", contestant, tasks)
            return finish(config, run_directory, tasks, played, {})
        tasks, scales = with_scale(tasks, SCALES, scale)
        played = play_suite(config, folder, "played", contestant, tasks)
    # Where an episode was lost to the infrastructure, its level is lost to all sides.
    played, *sides = common_episodes([played, *scales.values()])
    return finish(config, run_directory, tasks, played, dict(zip(SCALES, sides, strict=True)))


def check_references(suite: str, checkpoint: str, names: Sequence[str]) -> None:
    """Raises `InputError`, before any browser starts, where reference players are to play what has none."""
    shown = checkpoint in SCRIPTED and checkpoint != "random"
    if shown or suite == "games15":
        for name in names:
            try:
                _ = load_playable(name).reference
            except InputError as error:
                if shown:
                    raise InputError(f"config.checkpoint must not be {checkpoint}, as {error}") from None
                raise InputError(f"config.names must be of games with reference players, the scale: {error}") from None


def finish(
    config: Any, run_directory: RunDirectory, tasks: Tasks, played: Episodes, scales: Mapping[str, Episodes]
) -> int:
    """`scales`: the episodes of those whose score is 100, on the same levels."""
    wanted = sum(map(len, tasks.values()))
    lost = wanted - sum(map(len, played.values()))
    harness = {"lmgame_harness": config.lmgame_harness} if config.suite == "lmgame" else {}
    result: dict[str, Any] = {**harness, "suite": config.suite, "checkpoint": config.checkpoint, "seed": config.seed}
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
    most = max(task.max_steps for some in tasks.values() for task in some)
    raw = {name: estimate_mean(scores(episodes, most)) for name, episodes in played.items()}
    solved = {name: sum(solved_within(episode, most) for episode in episodes) for name, episodes in played.items()}
    result |= {
        "raw": {name: each._asdict() for name, each in raw.items()},
        "successes": {name: (solved[name], len(episodes)) for name, episodes in played.items()},
        "lost_to_infrastructure": lost,
        "declined": dict(declined),
        "by_task": by_task(config.suite, played, most),
    }
    match config.suite:
        case "games15":
            summary = _games15(config, tasks, played, scales, raw, most)
        case "lmgame":
            summary = _lmgame(config, tasks, played, raw, most)
        case _:
            summary = _by_success(config, played, solved, most)
    result |= summary.result
    table, curve, unit, note = summary.table, summary.curve, summary.unit, NOTE[config.suite] + summary.note
    if not table:
        write_json(run_directory.path / "result.json", result)
        raise InputError(
            f"config.max_steps is {most}, in which no reference player scored: there is no scale; raw scores are in "
            f"{run_directory.path / 'result.json'}."
        )
    result |= {"step_budgets": {str(budget): each._asdict() for budget, each in curve.items()}}
    write_json(run_directory.path / "result.json", result)
    title = f"{config.suite}, {config.checkpoint}"
    save_figure(draw_budgets({unit: curve}, unit, title), run_directory.path / "budget.svg")
    steps = budget_table({unit: curve})
    if lost:
        gone = f", among them all of {', '.join(missing)}" if missing else ""
        note += f" {lost} of {wanted} episodes were lost to the infrastructure and count nowhere{gone}."
    if declined:
        reasons = ", ".join(f"{count} with {reason}" for reason, count in declined.most_common())
        note += f" {declined.total()} of {wanted} episodes ended where the policy's endpoint took no more: {reasons}."
    page = (
        f"# {config.suite}, played by {config.checkpoint}\n\n{episodes_and_steps(tasks)}, "
        f"seed {config.seed}; 95% intervals in brackets.\n\n{table}\n\n{note}\n\n"
        f"## Score against step budget\n\n{steps}\n\n![score against step budget](budget.svg)\n"
    )
    write_atomic(run_directory.path / "report.md", page.encode())
    print(f"{table}\n\n{note}\n\n{steps}")
    print(json.dumps({name: result[name] for name in ("suite", "checkpoint", "seed", "lost_to_infrastructure")}))
    print(f"report: {run_directory.path / 'report.md'}")
    return 0


@dataclasses.dataclass(frozen=True)
class _Summary:
    """What a suite's page shows; without a table there is no scale."""

    table: str
    curve: Mapping[int, Estimate]  # step budget -> score
    unit: str
    note: str = ""
    result: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # of result.json


def _games15(
    config: Any, tasks: Tasks, played: Episodes, scales: Mapping[str, Episodes], raw: Mapping[str, Estimate], most: int
) -> _Summary:
    whole = {side: {name: scores(its[name], most) for name in played} for side, its in scales.items()}
    normal = {side: normalized(played, its, most) for side, its in whole.items()}
    by_reference, mean = normal["reference"]
    if mean is None:
        return _Summary("", {}, UNITS["games15"])
    note = ""
    for side, (by_game, _) in normal.items():
        if without := [name for name in played if name not in by_game]:
            note += f" Without a scale, as {side} scored nothing, and in no mean: {', '.join(without)}."
    if eased := [name for name, some in tasks.items() if is_eased(some, config.levels)]:
        note += f" On easier levels, as a scripted player scored nothing on those asked for: {', '.join(eased)}."
    means = {budget: normalized(played, whole["reference"], budget)[1] for budget in step_budgets(most)}
    table = games_table(
        {name: (counts(name, config.next_levels), each) for name, each in raw.items()},
        {side: {name: estimate_mean(each) for name, each in its.items()} for side, its in whole.items()},
        normal,
    )
    by_person, to_person = normal["person"]
    result = {
        "mean_normalized_score": mean._asdict(),
        "normalized": {name: each._asdict() for name, each in by_reference.items()},
        "mean_normalized_to_person": to_person and to_person._asdict(),
        "normalized_to_person": {name: each._asdict() for name, each in by_person.items()},
        "scales": {side: {name: float(np.mean(each)) for name, each in its.items()} for side, its in whole.items()},
    }
    curve = {budget: each for budget, each in means.items() if each is not None}
    return _Summary(table, curve, UNITS["games15"], note, result)


def _lmgame(config: Any, tasks: Tasks, played: Episodes, raw: Mapping[str, Estimate], most: int) -> _Summary:
    unplayed = () if config.names else [name for name in unplayed_names(config.suite) if name not in tasks]
    reached = {name: [reported_score(episode, most) for episode in episodes] for name, episodes in played.items()}
    reported = {name: estimate_mean(each) for name, each in reached.items()}
    spread = {name: deviation(each) for name, each in reached.items()}
    note = f" The levels of Sokoban are {Path(config.sokoban_levels).name or 'ours'}." if SOKOBAN in played else ""
    note += HARNESS_NOTES[config.lmgame_harness]
    if ACE_ATTORNEY in played:
        note += ACE_NOTE
    if unplayed:
        note += f" Not played, as each needs a ROM that you own: {', '.join(unplayed)}."
    result = {"deviations": spread, "reported": {name: each._asdict() for name, each in reported.items()}}
    curve = {budget: score_at_budget(config.suite, played, {}, budget) for budget in step_budgets(most)}
    return _Summary(lmgame_table(reported, spread, raw, unplayed), curve, UNITS["lmgame"], note, result)


def _by_success(config: Any, played: Episodes, solved: Mapping[str, int], most: int) -> _Summary:
    rewards = {name: estimate_mean([each.reward for each in episodes]) for name, episodes in played.items()}
    table = success_table(rewards, {name: (solved[name], len(played[name])) for name in played})
    curve = {budget: score_at_budget(config.suite, played, {}, budget) for budget in step_budgets(most)}
    return _Summary(table, curve, SUCCESS_UNIT)


def episodes_and_steps(tasks: Tasks) -> str:
    """In words: of each alike, or name by name."""
    kinds = {name: (len(some), max(task.max_steps for task in some)) for name, some in tasks.items()}
    if len(set(kinds.values())) == 1:
        count, steps = next(iter(kinds.values()))
        return f"{count} episodes of each, at most {steps} steps"
    return "; ".join(f"{name}: {count} episodes of at most {steps} steps" for name, (count, steps) in kinds.items())


def is_eased(tasks: Sequence[Task], levels: Sequence[int]) -> bool:
    return any("level" in task.options and task.options["level"] not in levels for task in tasks)


def counts(name: str, next_levels: bool) -> str:
    """What the score of a game counts, in a word."""
    game = load_playable(name)
    return game.counts.unit if next_levels and isinstance(game, Game) else "points"


def normalized(
    played: Episodes, scale: Mapping[str, Sequence[float]], budget: int
) -> tuple[dict[str, Estimate], Estimate | None]:
    """Scores within a budget, with those of `scale` as 100, of the games where it scored at all; their mean, of any."""
    ours = {name: scores(episodes, budget) for name, episodes in played.items() if sum(scale[name]) > 0}
    return normalize(ours, scale) if ours else ({}, None)


def scores(episodes: Sequence[Trajectory], budget: int) -> list[float]:
    return [score_within(episode, budget) for episode in episodes]


def by_task(suite: str, played: Episodes, most: int) -> dict[str, dict[str, Any]]:
    """What each task came to, by its id: what runs of two checkpoints are paired by."""
    score = reported_score if suite == "lmgame" else score_within
    return {
        str(episode.task["id"]): {
            "group": name,
            "scores": [score(episode, most)],
            "successes": [solved_within(episode, most)],
            "lost": [],
        }
        for name, episodes in played.items()
        for episode in episodes
    }
