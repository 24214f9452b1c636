"""Curves of each game over training, with the lines of scripted players, in a report and over several runs."""

from __future__ import annotations

import dataclasses

import numpy as np

from tars_jax.evaluation.comparison import FinishedRun, draw_comparison
from tars_jax.evaluation.curves import GAME_SECTION, curve_sections, game_curves
from tars_jax.training.loggers import MetricsRow

CURVES = game_curves([("energy", "Energy"), ("game_2048", "2048")])
ROWS = [
    MetricsRow(step, "ppo", 0.0, {"energy_success": 0.1 * step, "energy_score": 0.5 * step, "game_2048_success": 1.0})
    for step in range(6)
]
RESULT = {"person/energy_score": 4.0, "reference/energy_score": 5.0, "score_before": 0.1, "score_after": 0.2}


def test_a_report_has_two_curves_of_a_game_with_both_lines() -> None:
    [section] = curve_sections(CURVES, ROWS, RESULT)
    assert GAME_SECTION in section and section.count("<figure>") == 3  # 2048 has no score in these rows
    assert "a person&#x27;s pace and errors, 4" in section and "the best scripted player, 5" in section
    without = curve_sections(CURVES, ROWS, {})[0]
    assert "dashed" not in without and without.count("<figure>") == 3


def test_seeds_of_a_run_share_a_panel_with_the_mean_of_their_lines() -> None:
    first = FinishedRun({"seed": 0, "games": "games15"}, ROWS, {**RESULT, "episodes": 20, "seed": 0})
    second = dataclasses.replace(
        first, config={"seed": 1, "games": "games15"}, result={**first.result, "seed": 1, "person/energy_score": 2.0}
    )
    figure = draw_comparison([first, second], CURVES, "")
    [panel] = [axes for axes in figure.axes if axes.get_title(loc="left") == "Energy, score"]
    drawn = [np.asarray(line.get_ydata()).tolist() for line in panel.get_lines()]
    levels = [each[0] for each in drawn if len(set(each)) == 1]
    assert levels == [3.0, 5.0] and len(panel.get_lines()) == 6  # of each seed the points and their mean, and two lines
    assert [text.get_text() for text in panel.texts][:2] == ["a person's pace and errors", "the best scripted player"]
