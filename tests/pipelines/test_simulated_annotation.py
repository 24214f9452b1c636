"""A reference player as the annotator of a policy: what it accepts, and what a budget of its steps buys."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.proposing import PlayerPolicy
from tars_jax.environment import Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.annotating import AnnotatedPolicy
from tars_jax.pipelines.simulated_annotation import (
    CORRECTIONS,
    DEMONSTRATIONS,
    GATED,
    Spent,
    annotate_until,
    annotator_of,
    setting_of,
    spent_on,
)
from tars_jax.rollout.players import PrivilegedEnvironment, random_player, reference_player

WRITER = PromptWriter(load_tokenizer(), image_tokens=1, max_observation_tokens=64)
AGENT = AgentConfig()


def tasks(count: int) -> list[Task]:
    options = {"shortest": 3, "longest": 3}  # three steps ahead and the turn
    return [Task(f"corridor-{seed}", "corridor", seed, options, 8) for seed in range(count)]


def make(of: Task) -> CheckedEnvironment:
    return load_environment(of.environment, of.options).checked(EnvironmentResources())


def spent(kind: str, proposes: Any, human_steps: int, candidates: int = 1, skill: float = 1.0) -> Spent:
    opened = AnnotatedPolicy(PlayerPolicy(proposes, candidates, "told"), WRITER, AGENT, 0, "told")
    work = annotate_until(
        tasks(5), setting_of(opened, kind, AskingGate("gated")), make, annotator_of(opened, kind, skill), human_steps
    )
    return spent_on(*asyncio.run(work))


RIGHT, GUESS = reference_player(WRITER, AGENT.grammar, 1.0), random_player(WRITER, AGENT.grammar)


def guesses(privileged: PrivilegedEnvironment, task: Task) -> Any:
    """Guesses, other ones in each candidate."""
    return GUESS(privileged, dataclasses.replace(task, seed=task.seed + 100 * privileged.member))


def test_what_is_right_is_accepted_and_an_episode_that_has_begun_is_ended() -> None:
    """Four steps an episode: a budget of six is spent in the middle of the second."""
    assert spent(CORRECTIONS, RIGHT, 6) == Spent(2, 2, 8, 0, 2, 0)
    assert spent(CORRECTIONS, RIGHT, 4) == Spent(1, 1, 4, 0, 1, 0)


def test_of_demonstrations_nothing_is_the_policys() -> None:
    assert spent(DEMONSTRATIONS, RIGHT, 8) == Spent(2, 2, 8, 8, 2, 0)


def test_who_is_asked_everywhere_mends_chance_and_who_errs_does_not() -> None:
    mended = spent(CORRECTIONS, guesses, 20)
    assert mended.solved == mended.episodes == 5 and 0 < mended.corrections < mended.human_steps == 20
    assert spent(CORRECTIONS, guesses, 20, skill=0.0).solved < 5


@pytest.mark.parametrize(("proposes", "asked"), [(RIGHT, False), (guesses, True)])
def test_a_gate_asks_where_candidates_differ(proposes: Any, asked: bool) -> None:
    found = spent(GATED, proposes, 12, candidates=3)
    assert (found.human_steps > 0) == asked
