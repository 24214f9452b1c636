"""Rollouts inside a program: what is sampled is what the learner scores, in the prompts that the agent loop writes."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.grammar import format_response
from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import Response
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.game import ExpertPlan
from tars_jax.episodes import EpisodeArrays
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.device_action_parser import compile_action_parser
from tars_jax.rollout.device_prompts import make_prompts, make_sayings
from tars_jax.rollout.on_device import PlayConfig, Scene, demonstrate, rollout

TOKENIZER = load_tokenizer()
GAME: Any = make_game("checklist", {})
WRITER = PromptWriter(TOKENIZER, image_tokens=4)
CONFIG = PlayConfig(steps=3, max_new_tokens=20)
PROMPTS = make_prompts(WRITER, GAME.instruction, 3, image=TOKENIZER.image, grid=(2, 2))
PARSER = compile_action_parser(GAME.space, GAME.choices, TOKENIZER.token_bytes())
SAYINGS = make_sayings(WRITER, GAME)
SCENE = Scene(GAME, CONFIG, TOKENIZER.end, PROMPTS, SAYINGS, PARSER)
LEVELS = jax.random.split(jax.random.key(0), 6)


@pytest.fixture(scope="module")
def demonstrations() -> EpisodeArrays:
    return jax.jit(lambda keys: demonstrate(SCENE, keys, 0.5))(LEVELS)


@pytest.fixture(scope="module")
def model(tiny_model: ModelConfig) -> ModelConfig:
    vision = VisionConfig(patch=16, merge=2, grid=4, width=8, depth=1, heads=2, mlp_width=16)
    return dataclasses.replace(tiny_model, vocabulary=TOKENIZER.vocabulary, vision=vision)


@pytest.fixture(scope="module")
def parameters(model: ModelConfig) -> Parameters:
    return jax.jit(lambda: init_parameters(model, jax.random.key(0)))()


@pytest.fixture(scope="module")
def sampled(model: ModelConfig, parameters: Parameters) -> EpisodeArrays:
    return jax.jit(lambda parameters: rollout(SCENE, model, parameters, LEVELS, jax.random.key(1)))(parameters)


def test_prompts_are_the_agent_loops() -> None:
    for left in (1, 2, 3):
        row = PROMPTS.tokens[left - 1][PROMPTS.segments[left - 1] > 0]
        shown = WRITER.observation(left, first=True, shown=ShownObservation(image_tokens=4))
        written = WRITER.preamble(GAME.instruction, "") + shown
        assert row.tolist() == written and PROMPTS.length[left - 1] == len(written)


def test_an_answer_is_what_the_writer_would_write() -> None:
    said = [[0, 1, 4], [], [3, 5, 2]]
    for words, call in zip(said, (0, 5, 15), strict=True):
        plan = ExpertPlan(jnp.array([*words, *[-1] * (3 - len(words))], jnp.int32), jnp.array([call], jnp.int32))
        thought = "".join(GAME.words[word] for word in words)
        tokens = np.asarray(SAYINGS(plan, 24))
        text = WRITER.read(tokens[tokens >= 0].tolist())
        expected = format_response(Response(thought, (GAME.calls[call],)))
        assert text == (expected if words else f"Thought:\n{expected}")


def test_words_that_the_tokenizer_joins_are_refused() -> None:
    class Joined:
        words, calls, most_calls = ("1", "2"), GAME.calls, 1

    with pytest.raises(InputError, match="words must be such that the tokenizer joins none"):
        make_sayings(WRITER, Joined())  # type: ignore[arg-type]


def test_demonstrations_read_as_they_were_meant(demonstrations: EpisodeArrays) -> None:
    assert (demonstrations.valid == demonstrations.played).all()
    assert demonstrations.played[:, 0].all()
    ends = ~demonstrations.played[:, 1:] & demonstrations.played[:, :-1]
    assert (demonstrations.rewards.sum(1) == demonstrations.succeeded).all()
    assert (ends.sum(1) <= 1).all()
    used_up = demonstrations.played.all(1) & ~demonstrations.succeeded
    np.testing.assert_array_equal(demonstrations.ended, ~used_up)
    assert used_up.any() and demonstrations.ended.any()


@pytest.mark.slow
def test_two_unreadable_answers_in_a_row_end_an_episode(sampled: EpisodeArrays) -> None:
    assert not sampled.valid.any()  # an untrained policy writes nothing that can be read
    np.testing.assert_array_equal(sampled.played, np.broadcast_to([True, True, False], (6, 3)))
    assert not np.asarray(sampled.action_mask)[:, 2].any()
    assert not sampled.succeeded.any() and sampled.ended.all()
    np.testing.assert_array_equal(sampled.images[:, 0], sampled.images[:, 2])  # nothing was done
