"""Prompts as tables for a compiled program: one for every number of remaining steps, and the players' answers.

Axes: B budgets (row b: b + 1 steps are left), P tokens of the longest prompt, W words, C calls that there are, K tokens
of the longest entry, N tokens of an answer.

Made on the host by the writer that the agent loop has, so that both paths read the same tokens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action
from tars_jax.agent.grammar import format_response
from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import Response
from tars_jax.envs.on_device.game import DeviceGame, ExpertPlan
from tars_jax.model.positions import rope_positions

EMPTY = -1


class DevicePrompt(NamedTuple):
    """Prompt of one step, left-padded; every field [E, ...]."""

    tokens: jax.Array  # [E, P] int32
    positions: jax.Array  # [E, 3, P] int32
    segments: jax.Array  # [E, P] int32: 0 is padding
    image_tokens: jax.Array  # [E, P] int32
    images: jax.Array  # [E, I, H, W, 3] uint8
    length: jax.Array  # [E] int32
    next_position: jax.Array  # [E] int32: rotary position of the answer's first token


@flax.struct.dataclass
class Prompts:
    """Windows of one observation, padded in front, so that all answers begin at P. Nothing is remembered."""

    tokens: Any  # [B, P] int32
    positions: Any  # [B, 3, P] int32
    segments: Any  # [B, P] int32: 0 is padding
    image_tokens: Any  # [B, P] int32
    length: Any  # [B] int32
    next_position: Any  # [B] int32: rotary position of the answer's first token

    window = 1

    @property
    def size(self) -> int:
        return int(self.tokens.shape[1])

    @property
    def steps(self) -> int:
        return len(self.tokens)

    def begin(self, images: jax.Array) -> None:
        return None

    def prompt(self, past: Any, images: jax.Array, number: jax.Array) -> DevicePrompt:
        """Builds the prompt of step `number`, whose screenshots are [E, H, W, 3]."""
        at = self.steps - 1 - number

        def row(table: Any) -> jax.Array:
            return jnp.broadcast_to(jnp.asarray(table)[at], (images.shape[0], *table.shape[1:]))

        return DevicePrompt(
            tokens=row(self.tokens),
            positions=row(self.positions),
            segments=row(self.segments),
            image_tokens=row(self.image_tokens),
            images=images[:, None],
            length=row(self.length),
            next_position=row(self.next_position),
        )

    def remember(self, past: Any, *_: Any) -> None:
        return None


def make_prompts(
    writer: PromptWriter, instruction: str, steps: int, *, image: int, grid: tuple[int, int], at_least: int = 0
) -> Prompts:
    """The prompts of an episode of so many steps, of `at_least` tokens with their padding; `image` is the image token,
    `grid` its rows and columns."""
    head = writer.preamble(instruction, "")
    shown = ShownObservation(image_tokens=math.prod(grid))
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
    first: Any  # [C, K] int32: calls that follow a thought
    further: Any  # [C, K] int32: calls that follow another
    end: Any  # [1, K] int32: of the turn

    def __call__(self, plan: ExpertPlan, length: int) -> jax.Array:
        """The tokens [N] int32 of an answer, EMPTY behind its end; what does not fit is cut off."""
        said = jnp.where(plan.words[:, None] >= 0, jnp.asarray(self.words)[jnp.maximum(plan.words, 0)], EMPTY)
        behind = plan.calls[1:]
        more = jnp.where(behind[:, None] >= 0, jnp.asarray(self.further)[jnp.maximum(behind, 0)], EMPTY)
        first = jnp.asarray(self.first)[plan.calls[:1]]
        pieces = [jnp.asarray(self.opening), said, first, more, jnp.asarray(self.end)]
        written = jnp.concatenate([piece.ravel() for piece in pieces])
        there = written != EMPTY
        place = jnp.where(there, jnp.cumsum(there) - 1, length)
        return jnp.full(length, EMPTY, jnp.int32).at[place].set(written, mode="drop")


def make_sayings(writer: PromptWriter, game: DeviceGame) -> Sayings:
    """Each word and call is encoded by itself: every word begins with a space or a sign, where the tokenizer cuts.

    Raises InputError when the tokenizer does not cut there.
    """
    parts = [writer.codec.encode(word) for word in game.words]
    opening, end = writer.codec.encode("Thought:"), writer.response("")
    first = [_last_call(writer, game.words[0], (call,)) for call in game.calls]
    further = [_last_call(writer, game.words[0], (game.calls[0], call)) for call in game.calls]
    every = Response("".join(game.words), (game.calls[0],) * game.most_calls)
    expected = [*opening, *itertools.chain(*parts), *first[0], *further[0] * (game.most_calls - 1), *end]
    if writer.response(format_response(every)) != expected:
        raise InputError(f"words must be such that the tokenizer joins none; got {game.words!r}")
    width = max(map(len, (*parts, *first, *further, opening, end)))

    return Sayings(*(table(rows, width) for rows in ([opening], parts, first, further, [end])))


def table(rows: Sequence[Sequence[int]], width: int = 0) -> np.ndarray:
    """int32 [rows, tokens of the longest, or `width`], EMPTY behind their ends."""
    width = width or max(map(len, rows))
    return np.array([[*row, *[EMPTY] * (width - len(row))] for row in rows], np.int32)


def _last_call(writer: PromptWriter, word: str, calls: tuple[Action, ...]) -> list[int]:
    """Tokens of the last call of an answer with this thought, with what stands before that."""
    before = format_response(Response(word, calls[:-1])) if calls[1:] else f"Thought:{word}"
    return writer.codec.encode(format_response(Response(word, calls)))[len(writer.codec.encode(before)) :]
