"""Prompts of several steps inside a program: token for token those of the agent loop with the same memory."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.loop import whole_context
from tars_jax.agent.memory import Memory, MemoryConfig, RememberedStep, summarize
from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import ParseError
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.corridor import Corridor
from tars_jax.envs.on_device.game import ExpertPlan
from tars_jax.episodes import EpisodeArrays
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import init_parameters
from tars_jax.model.positions import rope_positions
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.config import ContextConfig
from tars_jax.rollout.device_action_parser import compile_action_parser
from tars_jax.rollout.device_context import Contexts, make_contexts
from tars_jax.rollout.device_prompts import Prompts, make_prompts, make_sayings
from tars_jax.rollout.on_device import PlayConfig, Scene, demonstrate, play, rollout
from tars_jax.training.on_device import rows_of
from tars_jax.training.ppo import score_fn

TOKENIZER = load_tokenizer()
GAME: Any = make_game("corridor", {"shortest": 3, "longest": 4})
STEPS, ANSWER, GRID = 7, 14, (2, 2)
WRITER = PromptWriter(TOKENIZER, image_tokens=4)
PARSER = compile_action_parser(GAME.space, GAME.choices, TOKENIZER.token_bytes())


class Talkative(Corridor):
    """One that may say something before a comma."""

    words = (*GAME.words, ",")


SAYINGS = make_sayings(WRITER, GAME)
TALKATIVE: Any = Talkative()
TALK = make_sayings(WRITER, TALKATIVE)
LEVELS = jax.random.split(jax.random.key(0), 5)
TABLES = make_prompts(WRITER, GAME.instruction, STEPS, image=TOKENIZER.image, grid=GRID)
contexts = functools.partial(
    make_contexts,
    WRITER,
    GAME.instruction,
    STEPS,
    image=TOKENIZER.image,
    grid=GRID,
    answer=ANSWER,
    token_bytes=TOKENIZER.token_bytes(),
)


def scene(prompts: Prompts | Contexts) -> Scene:
    return Scene(GAME, PlayConfig(STEPS, ANSWER), TOKENIZER.end, prompts, SAYINGS, PARSER)


def context(window: int, summaries: int, **others: int) -> Scene:
    return scene(contexts(config=ContextConfig(window, summaries, **others)))


@functools.partial(jax.jit, static_argnums=1)
def wandered(own: Scene, seed: int) -> EpisodeArrays:
    """Episodes of a player whose answers are of all kinds: thoughts of several clauses and of none, keys that do
    something and keys that do not, now and then one that cannot be read."""

    def respond(memory: None, turn: Any) -> tuple[None, jax.Array, jax.Array]:
        def one(level: jax.Array) -> jax.Array:
            words, key, spoilt = jax.random.split(jax.random.fold_in(level, seed + turn.number), 3)
            count = jax.random.randint(key, (), 0, 5)
            said = jax.random.randint(words, (4,), 0, len(TALK.words))
            plan = ExpertPlan(jnp.where(jnp.arange(4) < count, said, -1), count[None] % 4)
            tokens = TALK(plan, ANSWER)
            return tokens.at[0].set(jnp.where(jax.random.uniform(spoilt) < 0.2, 300, tokens[0]))

        tokens = jax.vmap(one)(LEVELS)
        return memory, tokens, jnp.zeros(tokens.shape)

    return play(own, LEVELS, None, respond)[0]


def of_the_loop(episodes: EpisodeArrays, at: int, config: MemoryConfig) -> list[list[int]]:
    """What the agent loop would have read before each step of one episode, by its own memory and writer."""
    memory, shown, prompts = Memory(config), ShownObservation(image_tokens=4), []
    for step in range(int(episodes.played[at].sum())):
        parts = whole_context(memory, WRITER, GAME.instruction, step, STEPS - step, shown)
        prompts.append([token for _, tokens in parts for token in tokens])
        response = np.asarray(episodes.tokens[at, step])[np.asarray(episodes.action_mask[at, step])].tolist()
        parsed = parse_response(WRITER.read(response), grammar="text", space=GAME.space)
        valid = bool(episodes.valid[at, step])
        assert not (valid and isinstance(parsed, ParseError))
        thought = "" if isinstance(parsed, ParseError) else parsed.thought
        images = episodes.images[at]
        changed = step + 1 == STEPS or bool((images[step] != images[step + 1]).any())
        summary = summarize(thought, changed, valid)
        memory, _ = memory.add(RememberedStep(step, tuple(response), shown, STEPS - step, summary))
    return prompts


@pytest.mark.parametrize(("window", "summaries"), [(1, 3), (3, 0), (2, 2), (1, 12)])
@pytest.mark.first(2)
def test_prompts_are_those_of_the_agent_loop(window: int, summaries: int) -> None:
    own = context(window, summaries, summary_tokens=12)
    size = own.prompts.size
    read = []
    for seed in (0, 100):
        episodes = wandered(own, seed)
        for at in range(len(LEVELS)):
            written = of_the_loop(episodes, at, MemoryConfig(window - 1, window - 1, summaries))
            for step, expected in enumerate(written):
                row = np.asarray(episodes.tokens[at, step, :size])
                there = np.asarray(episodes.segments[at, step, :size]) > 0
                assert row[there].tolist() == expected, (
                    WRITER.codec.decode(row[there].tolist()),
                    WRITER.codec.decode(expected),
                )
                is_image = row[there] == TOKENIZER.image
                positions, following = rope_positions(is_image, GRID)
                np.testing.assert_array_equal(np.asarray(episodes.positions[at, step, :, :size])[:, there], positions)
                answer = np.asarray(episodes.positions[at, step, :, size:])
                np.testing.assert_array_equal(answer, np.broadcast_to(following + np.arange(ANSWER), (3, ANSWER)))
                places = np.asarray(episodes.image_tokens[at, step, :size])[there][is_image]
                assert places.tolist() == list(range(4 * (window - min(window, step + 1)), 4 * window))
                read.append(WRITER.codec.decode(expected))
    if summaries == 12:  # all kinds of summaries were met
        everything = "".join(read)
        assert all(word in everything for word in ("unreadable", "acted", ": nothing", "; on"))


def test_screenshots_of_a_row_are_those_of_its_window() -> None:
    episodes = wandered(context(3, 0), 0)
    (images,) = rows_of(episodes).inputs.images
    assert images.shape == (len(LEVELS) * STEPS, 3, 32, 32, 3)
    by_step = np.asarray(images).reshape(len(LEVELS), STEPS, *images.shape[1:])
    for step in range(2, STEPS):
        np.testing.assert_array_equal(by_step[:, step], np.asarray(episodes.images)[:, step - 2 : step + 1])
    np.testing.assert_array_equal(by_step[:, 0, 2], np.asarray(episodes.images)[:, 0])


@pytest.mark.slow
def test_a_window_of_one_without_memory_is_what_tables_hold() -> None:
    made, known = (demonstrate(scene(each), LEVELS, 0.5) for each in (contexts(config=ContextConfig()), TABLES))
    jax.tree.map(np.testing.assert_array_equal, made, known)


def test_a_context_that_is_too_small_is_refused() -> None:
    needed = contexts(config=ContextConfig(2, 3)).size
    assert contexts(config=ContextConfig(2, 3, tokens=needed + 5)).size == needed + 5
    with pytest.raises(InputError, match=f"rollout.context must be 0, or {needed} tokens or more"):
        contexts(config=ContextConfig(2, 3, tokens=needed - 1))


@pytest.mark.slow
def test_the_learner_scores_what_was_sampled_in_a_window_with_memory(tiny_model: ModelConfig) -> None:
    vision = VisionConfig(patch=16, merge=1, grid=4, width=8, depth=1, heads=2, mlp_width=16)
    model = dataclasses.replace(tiny_model, vocabulary=TOKENIZER.vocabulary, vision=vision)
    parameters = jax.jit(lambda: init_parameters(model, jax.random.key(0)))()
    own = context(2, 3)
    sampled = jax.jit(lambda parameters: rollout(own, model, parameters, LEVELS, jax.random.key(1)))(parameters)
    rows = rows_of(sampled)
    score = jax.jit(score_fn(model))
    scored = score(parameters, rows)
    assert int(rows.action_mask.sum()) > 50
    np.testing.assert_allclose(
        np.where(rows.action_mask, scored, 0), np.where(rows.action_mask, rows.log_probs, 0), atol=1e-4
    )
    # What the screenshot of the step before shows is read, too.
    blank = rows.inputs.images[0].at[:, 0].set(0)
    other = rows.replace(inputs=rows.inputs.replace(images=(blank,)))  # type: ignore[attr-defined]
    changed = np.abs(np.asarray(score(parameters, other)) - np.asarray(scored))
    second = np.asarray(rows.action_mask).reshape(len(LEVELS), STEPS, -1)[:, 1]
    assert changed.reshape(len(LEVELS), STEPS, -1)[:, 1][second].max() > 1e-4
