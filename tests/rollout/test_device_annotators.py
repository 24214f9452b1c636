"""Simulated annotators: who decides what, and which labels a budget buys."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax.agent.prompts import PromptWriter
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.checklist import EMPTY as NO_BOX
from tars_jax.envs.on_device.checklist import OPEN, SUBMIT, TICKED, ChecklistPage
from tars_jax.envs.on_device.game import DeviceCall
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.device_action_parser import compile_action_parser
from tars_jax.rollout.device_annotators import (
    Annotated,
    Annotator,
    annotated_rollout,
    begun,
    decided_by_person,
    labeled,
    progresses,
    switches,
)
from tars_jax.rollout.device_prompts import EMPTY, make_prompts, make_sayings
from tars_jax.rollout.on_device import PlayConfig, Scene, rollout
from tars_jax.training.on_device import rows_of

TOKENIZER = load_tokenizer()
GAME: Any = make_game("checklist", {})
WRITER = PromptWriter(TOKENIZER, image_tokens=4)
SCENE = Scene(
    GAME,
    PlayConfig(steps=4, max_new_tokens=20),
    TOKENIZER.end,
    make_prompts(WRITER, GAME.instruction, 4, image=TOKENIZER.image, grid=(2, 2)),
    make_sayings(WRITER, GAME),
    compile_action_parser(GAME.space, GAME.choices, TOKENIZER.token_bytes()),
)
LEVELS = jax.random.split(jax.random.key(0), 6)
ALWAYS, NEVER = -jnp.inf, jnp.inf


@pytest.fixture(scope="module")
def model(tiny_model: ModelConfig) -> ModelConfig:
    vision = VisionConfig(patch=16, merge=2, grid=4, width=8, depth=1, heads=2, mlp_width=16)
    return dataclasses.replace(tiny_model, vocabulary=TOKENIZER.vocabulary, vision=vision)


@pytest.fixture(scope="module")
def parameters(model: ModelConfig) -> Parameters:
    return jax.jit(lambda: init_parameters(model, jax.random.key(0)))()


@pytest.fixture(scope="module")
def annotate(model: ModelConfig, parameters: Parameters) -> Any:
    """One program for every annotator."""
    play = jax.jit(lambda annotator: annotated_rollout(SCENE, model, parameters, annotator, LEVELS, jax.random.key(1)))
    return lambda **fields: play(jax.tree.map(jnp.asarray, Annotator(**fields)))


@pytest.mark.slow
def test_nobody_is_asked_and_the_policy_plays_as_it_would_alone(
    annotate: Any, model: ModelConfig, parameters: Parameters
) -> None:
    found = annotate(skill=1.0, ask_above=NEVER, keep_above=NEVER)
    alone = jax.jit(lambda: rollout(SCENE, model, parameters, LEVELS, jax.random.key(1)))()
    np.testing.assert_array_equal(found.episodes.tokens, alone.tokens)
    assert not found.asked.any() and not found.right.any()  # an untrained policy writes nothing that can be read
    mask = np.asarray(alone.action_mask)
    mean = -(np.asarray(alone.log_probs) * mask).sum(-1) / np.maximum(mask.sum(-1), 1)
    played = np.asarray(alone.played)
    np.testing.assert_allclose(np.asarray(found.uncertainty)[played], mean[played], rtol=1e-5)


@pytest.mark.slow
def test_who_is_asked_at_every_step_solves_what_the_policy_cannot(annotate: Any) -> None:
    found = annotate(skill=1.0, ask_above=ALWAYS, keep_above=ALWAYS)
    np.testing.assert_array_equal(found.asked, found.episodes.played)
    assert found.episodes.succeeded.all() and not found.accepted.any()
    rows, done = rows_of(labeled(found, found.asked)), rows_of(found.episodes)
    there = np.asarray(done.action_mask)
    np.testing.assert_array_equal(rows.action_mask, there)
    np.testing.assert_array_equal(np.asarray(rows.inputs.tokens)[there], np.asarray(done.inputs.tokens)[there])
    clumsy = annotate(skill=0.0, ask_above=ALWAYS, keep_above=ALWAYS)
    assert not clumsy.episodes.succeeded.all()


@pytest.mark.slow
def test_labels_afterwards_stand_in_the_prompts_of_the_failed_episode(annotate: Any) -> None:
    found: Annotated = annotate(skill=1.0, ask_above=NEVER, keep_above=NEVER, afterwards=True)
    decided = decided_by_person(found, True, 1000)
    np.testing.assert_array_equal(decided, found.episodes.played & ~found.episodes.succeeded[:, None])
    episodes = labeled(found, decided)
    length = found.answers.shape[-1]
    np.testing.assert_array_equal(episodes.tokens[..., :-length], found.episodes.tokens[..., :-length])
    at = tuple(np.argwhere(decided)[0])
    written = np.asarray(episodes.tokens[at][-length:])[np.asarray(episodes.action_mask[at][-length:])]
    assert "click" in WRITER.read(written.tolist())
    assert not episodes.action_mask[..., :-length].any()


@pytest.mark.slow
def test_a_gate_keeps_the_person_longer_than_it_calls_them(annotate: Any) -> None:
    free = annotate(skill=1.0, ask_above=NEVER, keep_above=NEVER)
    seen = np.asarray(free.uncertainty)[np.asarray(free.episodes.played)]
    high = float(np.quantile(seen, 0.7))
    strict = annotate(skill=1.0, ask_above=high, keep_above=high)
    patient = annotate(skill=1.0, ask_above=high, keep_above=ALWAYS)
    np.testing.assert_array_equal(strict.asked, strict.episodes.played & (strict.uncertainty > high))
    asked = np.asarray(patient.asked)
    assert asked.any() and not asked.all()
    np.testing.assert_array_equal(asked, np.logical_or.accumulate(asked, 1) & np.asarray(patient.episodes.played))


@pytest.mark.parametrize(
    ("kind", "right"),
    [(OPEN, True), (TICKED, False), (NO_BOX, False), (SUBMIT, False)],
)
def test_right_is_what_brings_the_end_nearer(kind: int, right: bool) -> None:
    """A page with an open box, a ticked one, nothing, and the button, in this order in its first row."""
    cells = np.zeros((4, 4), np.int32)
    cells[0] = OPEN, TICKED, NO_BOX, SUBMIT
    page = ChecklistPage(jnp.asarray(cells), jnp.bool_(False))
    at = cells[0].tolist().index(kind)

    def click(column: int) -> DeviceCall:
        return DeviceCall(jnp.array([0]), jnp.array([[125 + 250 * column, 125]]), jnp.array([-1]))

    assert bool(progresses(GAME, page, click(at), jnp.bool_(True))) == right
    assert not progresses(GAME, page, click(at), jnp.bool_(False))
    done = ChecklistPage(jnp.asarray(np.where(cells == OPEN, TICKED, cells)), jnp.bool_(False))
    assert progresses(GAME, done, click(3), jnp.bool_(True))


def by_hand(asked: list[list[int]], played: list[list[int]], succeeded: list[int]) -> Annotated:
    episodes: Any = dataclasses.make_dataclass("Some", ["played", "succeeded"])(
        jnp.array(played, bool), jnp.array(succeeded, bool)
    )
    masks = jnp.array(asked, bool)
    return Annotated(episodes, jnp.full((*masks.shape, 1), EMPTY), masks, masks, masks, jnp.zeros(masks.shape))


def test_a_budget_is_spent_episode_after_episode() -> None:
    """Three episodes of three steps: the person holds steps 0 and 2 of the first, 1 of the second, all of the third."""
    found = by_hand([[1, 0, 1], [0, 1, 0], [1, 1, 1]], [[1, 1, 1], [1, 1, 0], [1, 1, 1]], [1, 0, 0])
    four = decided_by_person(found, False, 4)
    np.testing.assert_array_equal(four, [[1, 0, 1], [0, 1, 0], [1, 0, 0]])
    assert switches(four) == 4
    assert switches(decided_by_person(found, False, 100)) == 4
    np.testing.assert_array_equal(begun(four), [True, True, True])
    three = decided_by_person(found, False, 3)
    np.testing.assert_array_equal(begun(three), [True, True, False])
    np.testing.assert_array_equal(decided_by_person(found, True, 3), [[0, 0, 0], [1, 1, 0], [1, 0, 0]])
    assert not begun(decided_by_person(found, False, 0)).any()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=3, max_size=3), st.integers(0, 14))
def test_no_budget_is_overspent_nor_left_while_there_is_something_to_decide(asked: Any, budget: int) -> None:
    found = by_hand(asked, [[1] * 4] * 3, [0] * 3)
    decided = np.asarray(decided_by_person(found, False, budget))
    wanted = np.array(asked)
    assert decided.sum() == min(budget, wanted.sum())
    assert not (decided & ~wanted).any()
    left = (wanted & ~decided).ravel()
    assert not left.any() or np.flatnonzero(left)[0] > max(np.flatnonzero(decided.ravel()), default=-1)
    runs = sum("".join("x" if step else " " for step in row).split().__len__() for row in decided.tolist())
    assert switches(jnp.asarray(decided)) == runs
