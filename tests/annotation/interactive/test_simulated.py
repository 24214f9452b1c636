"""Simulated annotators: what they cost, and what is learned of them."""

from __future__ import annotations

import asyncio

import pytest

from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.simulated import SimulatedAnnotator, SimulatedEpisode, annotate
from tars_jax.rollout.players import reference_player
from tests.annotation.interactive.corridors import UP, WRITER, Said, make, setting, task


def _annotate(said: Said, gate: AskingGate, annotator: SimulatedAnnotator, seed: int = 0) -> SimulatedEpisode:
    of = task(seed, steps=8, length=4)
    return asyncio.run(annotate(of, setting(said, gate), make(of), annotator))


def _annotator(skill: float = 1.0, **more: float | int) -> SimulatedAnnotator:
    return SimulatedAnnotator(reference_player(WRITER, "text", skill), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_a_perfect_annotator_solves_what_the_policy_does_not(seed: int) -> None:
    done = _annotate(Said((UP, UP)), AskingGate("every_step"), _annotator(), seed)
    assert done.success and done.trajectory is not None and done.trajectory.success
    assert done.human_steps == 5
    way = done.record.first.info["state"]["way"]
    assert done.corrections == (way != "up")  # the rest is accepted
    assert len(done.preferences) == (way != "up")
    assert done.seconds == 8.0 * done.corrections + 1.0 * (5 - done.corrections)


def test_a_gated_one_is_asked_less_and_the_rest_is_context() -> None:
    sure = _annotate(Said((UP, UP)), AskingGate("gated"), _annotator())
    assert sure.human_steps == 0 and sure.switches == 0 and not sure.success
    assert sure.trajectory is not None and sure.trajectory.metadata["context_steps"] == [0, 1, 2, 3, 4]


def test_a_budget_of_steps_is_kept() -> None:
    done = _annotate(Said((UP, UP)), AskingGate("every_step"), _annotator(most_steps=2))
    assert done.human_steps == 2 and done.switches == 1
    assert [each.decision.by_person for each in done.record.steps] == [True, True, False, False, False]


def test_one_without_skill_errs() -> None:
    outcomes = [_annotate(Said((UP, UP)), AskingGate("every_step"), _annotator(0.0), seed).success for seed in range(6)]
    assert not all(outcomes)


def test_the_same_seed_decides_the_same() -> None:
    first, second = (_annotate(Said((UP, UP)), AskingGate("every_step"), _annotator(0.5), 3) for _ in range(2))
    decisions = [[done.decision.text for done in each.record.steps] for each in (first, second)]
    assert decisions[0] == decisions[1]
