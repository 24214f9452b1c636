"""Scores of evaluation episodes, by hand; tables, and the published figures that stand in them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.evaluation import published
from tars_jax.evaluation.figures import draw_budgets
from tars_jax.evaluation.scoring import (
    estimate_mean,
    normalize,
    reported_score,
    score_within,
    solved_within,
    step_budgets,
)
from tars_jax.evaluation.statistics import Estimate, deviation
from tars_jax.evaluation.suites import suite_names, suite_tasks, unplayed_names
from tars_jax.evaluation.tables import budget_table, games_table, lmgame_table, markdown, success_table
from tars_jax.tasks.games.catalog import game_names
from tars_jax.trajectory import Outcome, Step, Trajectory


def episode(*scores: float, success: bool = False) -> Trajectory:
    """`scores` are what the game showed before each step and at the end."""
    verdicts = [{"score": score, "success": False} for score in scores]
    verdicts[-1]["success"] = success
    steps = tuple(
        Step(b"", "", "", "", None, 0.0, 0, True, {"verdict": verdict, "state": {}}) for verdict in verdicts[:-1]
    )
    return Trajectory("", {}, (), steps, Outcome.FINISHED, 0.0, {"final": {"verdict": verdicts[-1]}})


def test_a_score_is_read_after_so_many_steps() -> None:
    played = episode(0, 0, 2, 5, success=True)
    assert [score_within(played, budget) for budget in (1, 2, 3, 100)] == [0, 2, 5, 5]
    assert [solved_within(played, budget) for budget in (2, 3, 100)] == [False, True, True]


def lmgame_episode(game: str, *scores: float) -> Trajectory:
    """Where a score stays as it was, the step before changed nothing."""
    shown = [{"verdict": {"score": score, "success": False}, "state": {"score": score}} for score in scores]
    steps = tuple(Step(b"", "", "", "", None, 0.0, 0, True, info) for info in shown[:-1])
    return Trajectory("", {"environment": f"lmgame/{game}"}, (), steps, Outcome.TRUNCATED, 0.0, {"final": shown[-1]})


def test_2048_is_reported_as_lmgame_bench_tabulates_it() -> None:
    """Three runs of its eval/perf/model_perf_rank.json and the mean that its notebook has for them: 108.2."""
    runs = [reported_score(lmgame_episode("2048", 0, score), 1) for score in (1352, 2860, 1532)]
    assert round(estimate_mean(runs).value, 1) == 108.2
    assert [reported_score(lmgame_episode("2048", 0, score), 1) for score in (0, 4, 1024)] == [0, 20, 100]
    assert reported_score(lmgame_episode("2048", 0, 4, 1024), 1) == 20
    assert reported_score(lmgame_episode("tetris", 0, 13), 1) == 13
    with pytest.raises(InputError, match="must be one of .*; got 'maze_path_of_light'"):
        reported_score(Trajectory("", {"environment": "maze_path_of_light"}, (), (), Outcome.FINISHED, 0.0, {}), 1)


def test_what_lmgame_bench_would_have_ended_for_want_of_change_earns_no_more() -> None:
    """Five steps of Sokoban that change nothing; the first step has no step before it whose view it could repeat."""
    assert reported_score(lmgame_episode("sokoban", *[0] * 6, 1), 100) == 1
    assert reported_score(lmgame_episode("sokoban", *[0] * 7, 1), 100) == 0
    assert reported_score(lmgame_episode("sokoban", 0, *[1] * 5, 2), 100) == 2
    assert reported_score(lmgame_episode("sokoban", 0, *[1] * 6, 2), 100) == 1
    for game, patience in (("super_mario_bros", 100), ("ace_attorney", 15)):
        assert reported_score(lmgame_episode(game, *[0] * (patience + 1), 1), 300) == 1
        assert reported_score(lmgame_episode(game, *[0] * (patience + 2), 1), 300) == 0
    assert reported_score(lmgame_episode("sokoban", 0, *[1] * 6, 2), 6) == 1
    assert reported_score(lmgame_episode("2048", 0, *[4] * 10, 8), 100) == 30
    assert reported_score(lmgame_episode("2048", 0, *[4] * 11, 8), 100) == 20


def test_normalized_scores_by_hand() -> None:
    """Means 3 of 4 are 75, and 6 of 2 are 300, which nothing caps: 187.5 on average."""
    scores = {"a": [2.0, 4.0], "b": [6.0, 6.0]}
    references = {"a": [4.0, 4.0], "b": [2.0, 2.0]}
    games, mean = normalize(scores, references)
    assert games["a"].value == 75 and games["b"] == Estimate(300, 300, 300)
    assert (games["a"].low, games["a"].high) == (50, 100)  # of two levels, resampled
    assert mean == Estimate(187.5, 175, 200)
    with pytest.raises(InputError, match="b: the reference player must score more than 0"):
        normalize(scores, {**references, "b": [0.0, 0.0]})
    with pytest.raises(InputError, match="b: the reference player must score more than 0"):
        normalize(scores, {**references, "b": [-1.0, 0.0]})
    with pytest.raises(InputError, match="a: scores and those of the reference must be as many; got 2 and 3"):
        normalize(scores, {**references, "a": [4.0, 4.0, 4.0]})
    with pytest.raises(InputError, match="the scores of a mean must be at least one"):
        estimate_mean([])


def test_a_reference_against_itself_is_100_for_sure() -> None:
    played = {"a": list(np.random.default_rng(0).gamma(2, 3, 40))}
    games, mean = normalize(played, played)
    assert games["a"] == pytest.approx(mean) and mean == pytest.approx((100, 100, 100))


def test_an_interval_of_a_mean_covers_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for seed in range(200):
        estimate = estimate_mean(list(rng.normal(3, 2, 50)), seed)
        inside += estimate.low <= 3 <= estimate.high
    assert 180 <= inside <= 199


def test_published_normalized_scores_have_the_published_means() -> None:
    """The report's last row follows from its others: so nothing was copied wrongly."""
    columns = zip(*(published.normalized_to_human(game) for game in published.GAMES15), strict=True)
    means = [np.mean(column) for column in columns]
    assert len(published.GAMES15) == 15 and set(game_names()) <= set(published.GAMES15)
    np.testing.assert_allclose(means, published.GAMES15_MEAN, atol=0.02)


def test_tables_mark_what_was_published() -> None:
    some = Estimate(12.0, 8.0, 16.0)
    sides: dict[str, dict[str, Estimate]] = {"reference": {"shapes": some}, "person": {"shapes": some}}
    table = games_table(
        {"shapes": ("levels", some)}, sides, {"reference": (sides["reference"], some), "person": ({}, None)}
    )
    head, _, row, mean = (line.strip("| ").split("|") for line in table.splitlines())
    assert [cell.strip() for cell in head][-4:] == [f"{agent} (paper)" for agent in published.GAMES15_AGENTS[1:]]
    shown = ["shapes", "levels", "12.0 [8.0, 16.0]", "12.0", "12.0 [8.0, 16.0]", "12.0", "-"]
    assert [cell.strip() for cell in row][:7] == shown
    assert row[8].strip() == "108.9" and mean[8].strip() == "59.8" and mean[6].strip() == "-"
    raw = {"lmgame/2048": Estimate(4096.0, 4096.0, 4096.0)}
    reported = {"lmgame/2048": Estimate(120.0, 120.0, 120.0)}
    log = lmgame_table(reported, {"lmgame/2048": 1.5}, raw, unplayed_names("lmgame")).splitlines()
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in (log[0], log[2], log[-1])]
    assert cells == [
        ["Game", "score ± deviation", "score, 95% interval", "raw score", "UI-TARS-2 (paper)"],
        ["lmgame/2048", "120.0 ± 1.5", "120.0 [120.0, 120.0]", "4096.0 [4096.0, 4096.0]", "117.1 ± 1.9"],
        ["lmgame/ace_attorney", "-", "-", "-", "7 ± 0"],
    ]
    successes = success_table({"x": some, "y": some}, {"x": (1, 4), "y": (3, 4)})
    assert successes.splitlines()[-1].startswith("| All") and "50.0% [22, 78] of 8" in successes
    assert markdown(("a", "b"), [("long", "1")]).splitlines() == ["| a    | b |", "| :--- | : |", "| long | 1 |"]


def test_a_deviation_is_that_of_a_sample() -> None:
    assert deviation([2.0, 4.0, 6.0]) == 2.0 and deviation([7.0]) == 0.0
    with pytest.raises(InputError, match="the scores of a deviation must be at least one; got none"):
        deviation([])


def test_budgets_grow_by_ones_twos_and_fives() -> None:
    assert (
        step_budgets(1) == [1] and step_budgets(60) == [1, 2, 5, 10, 20, 50, 60] and step_budgets(100)[-2:] == [50, 100]
    )
    one, other = {1: Estimate(1, 0, 2), 5: Estimate(3, 2, 4)}, {5: Estimate(1, 0, 2)}
    figure = draw_budgets({"one": one, "other": other}, "score", "x")
    lines = {line.get_label(): np.asarray(line.get_xydata()).tolist() for line in figure.axes[0].get_lines()}
    assert lines == {"one": [[1, 1], [5, 3]], "other": [[5, 1]]}
    assert [row.split("|")[2:4] for row in budget_table({"one": one, "other": other}).splitlines()[2:]] == [
        [" 1.0 [0.0, 2.0] ", "              - "],
        [" 3.0 [2.0, 4.0] ", " 1.0 [0.0, 2.0] "],
    ]


def test_a_suite_plays_held_out_levels_in_turn() -> None:
    [name] = suite_names("games15", ("maze_path_of_light",))
    tasks = suite_tasks(name, 5, (1, 3), 0, 40)
    assert [task.options["level"] for task in tasks] == [1, 3, 1, 3, 1]
    assert {task.max_steps for task in tasks} == {40} and all(task.seed % 2 for task in tasks)
    assert suite_tasks(name, 5, (1, 3), 0, 40) == tasks
    assert not {task.seed for task in tasks} & {task.seed for task in suite_tasks(name, 5, (1, 3), 1, 40)}
    several = suite_tasks(name, 0, (1,), 0, 0, next_levels=True)
    assert len(several) == 6 and {task.max_steps for task in several} == {100}
    assert all(task.options == {"level": 1, "next_levels": True} for task in several)
    budgets = [suite_tasks(f"lmgame/{game}", 0, (), 0, 0) for game in ("2048", "candy_crush", "sokoban", "tetris")]
    assert [(len(some), some[0].max_steps) for some in budgets] == [(3, 1000), (3, 100), (3, 200), (3, 2000)]
    runs = suite_tasks("lmgame/tetris", 3, (1,), 0, 40)
    assert [task.seed for task in runs] == [42, 43, 44] and {task.max_steps for task in runs} == {40}
    assert suite_tasks("lmgame/tetris", 1, (1,), 2, 40) == runs[2:]
    with pytest.raises(InputError, match=r"config.names must be of games15, .*maze_path_of_light.*; got 'chess'"):
        suite_names("games15", ("chess",))
    with pytest.raises(InputError, match="lmgame/ace_attorney needs a ROM that you own"):
        suite_names("lmgame", ("lmgame/ace_attorney",))


def test_an_unfinished_episode_counts_what_it_reached() -> None:
    truncated = dataclasses.replace(episode(0, 3, 4), outcome=Outcome.TRUNCATED)
    assert score_within(truncated, 100) == 4 and not solved_within(truncated, 100)
