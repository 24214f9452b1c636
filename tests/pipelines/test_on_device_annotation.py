"""Rounds of annotation: what they cost, and that they learn from what the person decides and from nothing else."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs import on_device
from tars_jax import InputError
from tars_jax.pipelines.learning_sections import AnnotationPlan
from tars_jax.pipelines.on_device import OnDevice
from tars_jax.pipelines.on_device_annotation import AnnotationRounds, Arm, human_steps_to
from tars_jax.pipelines.trends.annotation import interval, table, written

PLAN = AnnotationPlan(
    rounds=2, human_steps=6, episodes=4, earlier_rows=4, updates=1, batch_rows=4, evaluation_episodes=4
)


def small(parts: tuple[str, ...] = ()) -> Any:
    config = on_device.get_config()
    config.seeds_by, config.mixture.parts = "turns", parts
    config.game.steps = 4
    config.demonstrations.episodes = 4
    config.supervised.update({"updates": 1, "part": 0, "episodes": 2, "batch_rows": 4})
    return config


def test_the_wanted_success_is_reached_between_two_rounds() -> None:
    curves = np.array([[0.5, 0.7, 0.9], [0.85, 0.2, 0.9], [0.1, 0.2, 0.3], [0.5, 0.8, 0.6]])
    np.testing.assert_allclose(human_steps_to(curves, 0.8, (0, 10, 20)), [15.0, 0.0, np.nan, 10.0])


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0.05, 0.95), st.floats(0, 0.5))
def test_a_higher_goal_is_never_reached_earlier(curve: list[float], wanted: float, more: float) -> None:
    lower, higher = (human_steps_to(np.array([curve]), goal, (0, 10, 20))[0] for goal in (wanted, wanted + more))
    assert np.isnan(higher) or lower <= higher


def test_a_table_says_means_with_intervals_and_who_reached_the_goal() -> None:
    counts = {name: np.array([[2, 2], [4, 4]]) for name in ("human_steps", "corrections", "switches")}
    counts |= {"steps": np.array([[4, 4], [8, 8]]), "wrong": np.ones((2, 2)), "wrong_decided": np.ones((2, 2))}
    found = {"x": {"success": np.array([[0.5, 0.9, 1.0], [0.1, 0.2, 0.3]]), **counts}}
    row = table(found, (0, 10, 20))["x"]
    assert row["reached_wanted"] == 1 and row["steps_to_wanted"] == [7.5, None, None]
    assert row["human_steps"][0] == 6 and row["wrong_of_steps"][0] == pytest.approx((2 / 8 + 2 / 16) / 2, abs=1e-4)
    assert row["success"][0][0] == pytest.approx(0.3)
    cells = [each.strip() for each in written({"x": row}, (0, 10, 20)).splitlines()[-1].split("|")]
    assert cells[1:3] == ["x", "30.0 [-224.1, 284.1]"] and cells[5] == "8, 1 seeds"
    # By hand: the deviation is 1, Student's t for two degrees of freedom 4.3027.
    half = 4.3027 / 3**0.5
    assert interval(np.array([1.0, 2.0, 3.0])) == pytest.approx([2, 2 - half, 2 + half], abs=1e-3)


@pytest.mark.parametrize("quantiles", [(0.5, 0.6), (1.5, 0.5), (0.5, -0.1)])
def test_a_gate_that_keeps_longer_than_it_calls_is_refused(quantiles: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="keep and ask must be quantiles"):
        Arm(*quantiles)


def test_a_mixture_has_no_annotator() -> None:
    setup = OnDevice(small(("most=2", "most=3")))
    with pytest.raises(InputError, match="mixture.parts must be none where somebody annotates; got 2"):
        AnnotationRounds(setup, {}, (0,), 1.0, PLAN)


@pytest.mark.slow
def test_rounds_spend_their_budget_and_nothing_more() -> None:
    setup = OnDevice(small())
    seeds = (0, 1)
    start = setup.supervised(seeds)
    work = AnnotationRounds(setup, start, seeds, 1.0, PLAN)
    every, none, gated = (work.rounds(arm, 1e-3) for arm in (Arm(), Arm(1.0, 1.0), Arm(0.5, 0.2)))
    assert every["success"].shape == (2, 3)
    assert every["human_steps"].tolist() == [[6, 6], [6, 6]] and not none["human_steps"].any()
    assert 0 < gated["human_steps"].max() <= 6 and (gated["human_steps"] <= gated["steps"]).all()
    np.testing.assert_array_equal(every["success"][:, 0], none["success"][:, 0])
    # What the person decides is learned from: with the same seeds, tasks and updates the loss differs.
    assert not np.array_equal(every["loss"], none["loss"])
    found = work.collect(start, Arm(), 0)
    assert np.asarray(found.rows.action_mask).any(-1).all()
    again = AnnotationRounds(setup, start, seeds, 1.0, dataclasses.replace(PLAN)).collect(start, Arm(), 0)
    np.testing.assert_array_equal(found.rows.inputs.tokens, again.rows.inputs.tokens)
