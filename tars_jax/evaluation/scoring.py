"""Scores of evaluation episodes: what an episode reached within a step budget, means, how sure they are, and what
LMGame-Bench reports of it.

Axes: N episodes of one game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.evaluation.statistics import Estimate, bootstrap, wilson_interval
from tars_jax.tasks.lmgame.catalog import ROM_GAMES, load_lmgame
from tars_jax.trajectory import Trajectory

UNITS = {"games15": "mean normalized score", "lmgame": "mean score"}  # of a suite; of any other `SUCCESS_UNIT`
SUCCESS_UNIT = "success, %"


def score_within(trajectory: Trajectory, budget: int) -> float:
    """The game's own score after the first `budget` steps, or at the end where the episode was shorter.

    The policy played with its full budget, of which its prompts speak: a run with a smaller one may differ.
    """
    return float(_verdict(trajectory, budget)["score"])


def solved_within(trajectory: Trajectory, budget: int) -> bool:
    return bool(_verdict(trajectory, budget)["success"])


def estimate_mean(scores: Sequence[float], seed: int = 0) -> Estimate:
    """The mean of [N] scores, with the 95% interval of a percentile bootstrap. Raises InputError without any."""
    x = np.asarray(scores, np.float64)
    if not x.size:
        raise InputError("the scores of a mean must be at least one; got none")
    return bootstrap(np.mean, x, seed=seed).estimate


def normalize(
    scores: Mapping[str, Sequence[float]], references: Mapping[str, Sequence[float]], seed: int = 0
) -> tuple[dict[str, Estimate], Estimate]:
    """100 * mean score / mean reference score of each game, and the mean of that over the games; not capped.

    (UI-TARS-2, table 2, where the reference is a human.) Intervals are percentile bootstraps, 95%, over the levels:
    the i-th scores of a game and of its reference belong to the same level.

    Raises InputError where a reference scored nothing, as within a budget of very few steps, or where a game and its
    reference have not equally many scores.
    """
    rng = np.random.default_rng(seed)
    games: dict[str, Estimate] = {}
    resampled = []
    for game, given in scores.items():
        x, y = np.asarray(given, np.float64), np.asarray(references[game], np.float64)
        if not x.size or x.size != y.size:
            raise InputError(f"{game}: scores and those of the reference must be as many; got {x.size} and {y.size}")
        if not y.mean() > 0:
            raise InputError(f"{game}: the reference player must score more than 0, which more steps may give; got 0")

        def ratio(x: np.ndarray, y: np.ndarray, axis: int, mean: float = y.mean()) -> np.ndarray:
            below = y.mean(axis)  # where a resample holds no score at all, the mean of all levels stands in
            return 100 * x.mean(axis) / np.where(below, below, mean)

        games[game], ratios = bootstrap(ratio, x, y, paired=True, seed=rng)
        resampled.append(ratios)
    low, high = np.quantile(np.mean(resampled, 0), [0.025, 0.975])
    return games, Estimate(float(np.mean([each.value for each in games.values()])), float(low), float(high))


def _verdict(trajectory: Trajectory, budget: int) -> Mapping[str, float]:
    """The verifier's verdict after at most `budget` steps."""
    if budget < len(trajectory.steps):
        verdict: Mapping[str, float] = trajectory.steps[budget].info["verdict"]
        return verdict
    final: Mapping[str, float] = trajectory.metadata["final"]["verdict"]
    return final


def reported_score(trajectory: Trajectory, budget: int) -> float:
    """Score that LMGame-Bench would report for an episode's first `budget` steps.

    Source: lmgame-org/GamingAgent. An episode ends where an observation has not changed for so many steps
    (`gamingagent/envs/gym_env_adapter.py`, `verify_termination`), and 2048 is shown as 10 log2 of its count
    (`eval/configs/game_eval_config.yaml`), run by run: the means that its
    `eval/lmgame_Bench_Evaluation_Pipeline.ipynb` tabulates are those of the logarithms of the runs in
    `eval/perf/model_perf_rank.json`, where a run without a merge is 0.

    Raises `InputError` for an episode of another collection.
    """
    name = trajectory.task["environment"]
    if name in ROM_GAMES:
        return score_within(trajectory, min(budget, stalled_after(trajectory, ROM_GAMES[name].patience)))
    game = load_lmgame(name)
    return game.reported(score_within(trajectory, min(budget, stalled_after(trajectory, game.patience))))


def stalled_after(trajectory: Trajectory, patience: int) -> int:
    """The steps after which LMGame-Bench would have ended the episode for want of change, or all of them.

    It compares what each step shows with what the step before showed, so the first step has nothing to be like.
    """
    states: list[Mapping[str, Any]] = [step.info["state"] for step in trajectory.steps[1:]]
    states.append(trajectory.metadata["final"]["state"])
    unchanged = 0
    for steps in range(2, len(states) + 1):
        unchanged = unchanged + 1 if states[steps - 1] == states[steps - 2] else 0
        if unchanged >= patience:
            return steps
    return len(trajectory.steps)


def step_budgets(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... below `most`, then `most`."""
    steps = (digit * 10**power for power in range(7) for digit in (1, 2, 5))
    return [*(step for step in steps if step < most), most]


def score_at_budget(
    suite: str,
    played: Mapping[str, Sequence[Trajectory]],
    scale: Mapping[str, Sequence[Trajectory]],
    budget: int,
) -> Estimate:
    """Score of episodes within a budget, in the suite's unit (`UNITS`), over all of a suite's names together.

    `scale`: of games15 the episodes whose score is 100, whatever their budget was, on the same levels in one order; a
    game in which it scored nothing is left out. Raises InputError where nothing is left.
    """
    if suite == "games15":
        whole = {name: [score_within(each, each.task["max_steps"]) for each in its] for name, its in scale.items()}
        scaled = {
            name: [score_within(each, budget) for each in its] for name, its in played.items() if sum(whole[name]) > 0
        }
        return normalize(scaled, whole)[1] if scaled else estimate_mean([])
    episodes = [each for its in played.values() for each in its]
    if suite == "lmgame":
        return estimate_mean([reported_score(each, budget) for each in episodes])
    solved = sum(map(bool, (_solved(each, budget) for each in episodes)))
    low, high = wilson_interval(solved, len(episodes))
    return Estimate(100 * solved / len(episodes), 100 * low, 100 * high)


def _solved(episode: Trajectory, budget: int) -> bool:
    """Whether an episode was solved: a whole one by its environment, its beginning by the page's verdict."""
    return episode.succeeded if budget >= len(episode.steps) else solved_within(episode, budget)
