"""Prompts as tables for a compiled program: one for every number of remaining steps, and the players' answers.

Axes: B budgets (row b: b + 1 steps are left), P tokens of the longest prompt, W words, C calls, K tokens of the
longest entry, N tokens of an answer.

Made on the host by the writer that the agent loop has, so that both paths read the same tokens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.grammar import format_response
from tars_jax.agent.observations import Shown
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import Response
from tars_jax.envs.on_device.game import Game, Plan
from tars_jax.model.positions import rope_positions

EMPTY = -1


@flax.struct.dataclass
class Prompts:
    """Windows of one observation, padded in front, so that all answers begin at P."""

    tokens: Any  # [B, P] int32
    positions: Any  # [B, 3, P] int32
    segments: Any  # [B, P] int32: 0 is padding
    image_tokens: Any  # [B, P] int32
    length: Any  # [B] int32
    next_position: Any  # [B] int32: rotary position of the answer's first token


def make_prompts(
    writer: PromptWriter, instruction: str, steps: int, *, image: int, grid: tuple[int, int], at_least: int = 0
) -> Prompts:
    """The prompts of an episode of so many steps, of `at_least` tokens with their padding; `image` is the image token,
    `grid` its rows and columns."""
    head = writer.preamble(instruction, "")
    shown = Shown(image_tokens=math.prod(grid))
    rows = [head + writer.observation(left, first=True, shown=shown) for left in range(1, steps + 1)]
    width = max(at_least, *map(len, rows))
    shape = (steps, width)
    tokens, segments = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    image_tokens = np.full(shape, EMPTY, np.int32)
    positions = np.zeros((steps, 3, width), np.int32)
    following = np.zeros(steps, np.int32)
    for row, written in enumerate(rows):
        first = width - len(written)
        is_image = np.array(written) == image
        tokens[row, first:], segments[row, first:] = written, 1
        positions[row, :, first:], following[row] = rope_positions(is_image, grid)
        image_tokens[row, first:][is_image] = np.arange(is_image.sum())
    return Prompts(tokens, positions, segments, image_tokens, segments.sum(1), following)


@flax.struct.dataclass
class Sayings:
    """A game's words and calls as tokens, EMPTY behind their end."""

    opening: Any  # [1, K] int32: what begins a thought
    words: Any  # [W, K] int32
    calls: Any  # [C, K] int32: with the line break before and the end of the turn behind

    def __call__(self, plan: Plan, length: int) -> jax.Array:
        """The tokens [N] int32 of an answer, EMPTY behind its end; what does not fit is cut off."""
        said = jnp.where(plan.words[:, None] >= 0, jnp.asarray(self.words)[jnp.maximum(plan.words, 0)], EMPTY)
        pieces = [jnp.asarray(self.opening), said, jnp.asarray(self.calls)[plan.call][None]]
        written = jnp.concatenate([piece.ravel() for piece in pieces])
        there = written != EMPTY
        place = jnp.where(there, jnp.cumsum(there) - 1, length)
        return jnp.full(length, EMPTY, jnp.int32).at[place].set(written, mode="drop")


def make_sayings(writer: PromptWriter, game: Game) -> Sayings:
    """Each word and call is encoded by itself: every word begins with a space or a sign, where the tokenizer cuts.

    Raises InputError when the tokenizer does not cut there.
    """
    parts = [writer.codec.encode(word) for word in game.words]
    opening = writer.codec.encode("Thought:")
    calls = [_after_thought(writer, game.words[0], call) for call in game.calls]
    every = Response("".join(game.words), (game.calls[0],))
    if writer.response(format_response(every)) != [*opening, *itertools.chain(*parts), *calls[0]]:
        raise InputError(f"words must be such that the tokenizer joins none; got {game.words!r}")
    width = max(map(len, (*parts, *calls, opening)))

    def table(rows: Sequence[Sequence[int]]) -> np.ndarray:
        return np.array([[*row, *[EMPTY] * (width - len(row))] for row in rows], np.int32)

    return Sayings(table([opening]), table(parts), table(calls))


def _after_thought(writer: PromptWriter, word: str, call: Any) -> list[int]:
    """What follows a thought's last token."""
    whole = writer.response(format_response(Response(word, (call,))))
    return whole[len(writer.codec.encode(f"Thought:{word}")) :]
