"""Prompts that hold the last steps in full and a line of what went before, made inside a compiled program.

Axes: E episodes, B budgets (row b: b + 1 steps are left), V vocabulary, W observations of a prompt, M summaries of
older steps, S tokens of one, N tokens of an answer, P tokens of a prompt, K tokens of the longest entry.

The array form of `tars_jax.agent.memory` with min_steps = max_steps = W - 1 and max_summaries = M: the same parts in
the same order, for what the tokenizer cuts between words the same tokens. Two things are of a program: a summary is cut
at S tokens, not at 40 characters, and it goes on in the tokens that were sampled, where the loop encodes their text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.memory import summarize
from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.prompts import PromptWriter
from tars_jax.rollout.config import ContextConfig
from tars_jax.rollout.device_action_parser import DeviceActionParser
from tars_jax.rollout.device_prompts import EMPTY, DevicePrompt, table


@flax.struct.dataclass
class Past:
    """Earlier steps, the latest last."""

    answers: jax.Array  # [E, W - 1, N] int32, EMPTY behind their ends
    images: jax.Array  # [E, W - 1, H, W, 3] uint8
    summaries: jax.Array  # [E, M + W - 1, S] int32: those of the window's steps wait until these have left it


@flax.struct.dataclass
class Contexts:
    """Tables of one game, tokenizer and step budget."""

    head: Any  # [K] int32: the instruction
    head_with_memory: Any  # [K] int32: the instruction, and what memory begins with
    joint: Any  # [1] int32: between two summaries
    end_of_head: Any  # [K] int32: behind the memory
    first: Any  # [B, K] int32: an observation that begins a window
    later: Any  # [B, K] int32: one behind an answer
    acted: Any  # [K] int32: for a thought that says nothing
    unreadable: Any  # [K] int32
    unchanged: Any  # [K] int32: behind the words of a step that changed nothing
    is_comma: Any  # [V] bool
    config: ContextConfig = flax.struct.field(pytree_node=False)
    image: int = flax.struct.field(pytree_node=False)  # the image token
    grid: tuple[int, int] = flax.struct.field(pytree_node=False)  # its rows and columns in a screenshot
    answer: int = flax.struct.field(pytree_node=False)  # N
    size: int = flax.struct.field(pytree_node=False)  # P

    @property
    def steps(self) -> int:
        return int(self.first.shape[0])

    @property
    def window(self) -> int:
        return self.config.window

    def begin(self, images: jax.Array) -> Past:
        """The context before the first step, whose screenshots are [E, H, W, 3]."""
        config, count = self.config, images.shape[0]
        behind = config.window - 1
        return Past(
            jnp.full((count, behind, self.answer), EMPTY, jnp.int32),
            jnp.zeros((count, behind, *images.shape[1:]), jnp.uint8),
            jnp.full((count, config.summaries + behind if config.summaries else 0, config.summary_tokens), EMPTY),
        )

    def prompt(self, past: Any, images: jax.Array, number: jax.Array) -> DevicePrompt:
        """Builds the prompt of step `number`, whose screenshots are [E, H, W, 3]; `past` is a `Past`."""
        count, config = images.shape[0], self.config
        behind = config.window - 1

        def all_read(row: jax.Array) -> jax.Array:
            return jnp.broadcast_to(row, (count, row.shape[-1]))

        def observation(before: int) -> jax.Array:
            """The observation of so many steps before, if there was one."""
            step = number - before
            begins = (before == behind) | (step == 0)
            row = jnp.clip(self.steps - 1 - step, 0, self.steps - 1)
            return jnp.where(step >= 0, jnp.where(begins, self.first[row], self.later[row]), EMPTY)

        pieces = [all_read(self.head)]
        if config.summaries:
            remembered = past.summaries[:, : config.summaries]
            known = (remembered[..., :1] != EMPTY).all(-1)
            is_next = known & (jnp.cumsum(known, 1) > 1)
            joints = jnp.where(is_next, self.joint[0], EMPTY)[..., None]
            line = jnp.concatenate([joints, remembered], 2).reshape(count, -1)
            any_known = known.any(1)[:, None]
            pieces = [
                jnp.where(any_known, EMPTY, self.head),
                jnp.where(any_known, self.head_with_memory, EMPTY),
                line,
                jnp.where(any_known, self.end_of_head, EMPTY),
            ]
        slots = [jnp.full(piece.shape, EMPTY) for piece in pieces]
        for place in range(config.window):
            pieces.append(all_read(observation(behind - place)))
            slots.append(jnp.where(pieces[-1] == self.image, place, EMPTY))
            if place < behind:
                pieces.append(past.answers[:, place])
                slots.append(jnp.full(pieces[-1].shape, EMPTY))
        tokens, slot = jnp.concatenate(pieces, 1), jnp.concatenate(slots, 1)
        shown = jnp.concatenate([past.images, images[:, None]], 1)
        return jax.vmap(self._laid_out)(tokens, slot, shown)

    def _laid_out(self, tokens: jax.Array, slot: jax.Array, images: jax.Array) -> DevicePrompt:
        """Prompt of one episode: `tokens` without padding, at the end of P; `slot` is the screenshot of an image
        token."""
        rows, columns = self.grid
        per_image = rows * columns
        there = tokens != EMPTY
        length = there.sum()
        start = self.size - length
        place = jnp.where(there, start + jnp.cumsum(there) - 1, self.size)
        is_image = slot >= 0
        of_image = (jnp.cumsum(is_image) - 1) % per_image

        def put(empty: int, values: jax.Array) -> jax.Array:
            return jnp.full(self.size, empty, jnp.int32).at[place].set(values, mode="drop")

        # A screenshot takes the positions of its longer side, and these behind its last token (`rope_positions`).
        after_image = jnp.where(of_image == per_image - 1, max(rows, columns), 0)
        advance = jnp.where(there, jnp.where(is_image, after_image, 1), 0)
        begins = jnp.cumsum(advance) - advance
        within = jnp.where(is_image, jnp.stack([jnp.zeros_like(of_image), of_image // columns, of_image % columns]), 0)
        return DevicePrompt(
            tokens=put(0, tokens),
            positions=jax.vmap(lambda axis: put(0, begins + axis))(within),
            segments=put(0, jnp.ones_like(tokens)),
            image_tokens=put(EMPTY, jnp.where(is_image, slot * per_image + of_image, EMPTY)),
            images=images,
            length=length,
            next_position=advance.sum(),
        )

    def remember(
        self,
        past: Any,
        images: jax.Array,
        tokens: jax.Array,
        valid: jax.Array,
        after: jax.Array,
        parser: DeviceActionParser,
    ) -> Past:
        """The context after a step, given its screenshots and answers [E, N], whether these could be read, and the next
        screenshots."""
        answers = jnp.concatenate([past.answers, tokens[:, None]], 1)[:, 1:]
        shown = jnp.concatenate([past.images, images[:, None]], 1)[:, 1:]
        summaries = past.summaries
        if self.config.summaries:
            changed = (images != after).reshape(images.shape[0], -1).any(1)
            thought = jax.vmap(parser.in_thought)(tokens)
            new = jax.vmap(self._summary)(tokens, thought, changed, valid)
            summaries = jnp.concatenate([summaries, new[:, None]], 1)[:, 1:]
        return Past(answers, shown, summaries)

    def _summary(self, tokens: jax.Array, thought: jax.Array, changed: jax.Array, valid: jax.Array) -> jax.Array:
        """[S] int32, of one answer [N] of which `thought` is one: `tars_jax.agent.memory.summarize` on tokens."""
        comma = thought & self.is_comma[tokens]
        clause = jnp.where(thought & (jnp.cumsum(comma[::-1])[::-1] == 0), tokens, EMPTY)
        said = jnp.concatenate([jnp.where((clause != EMPTY).any(), EMPTY, self.acted), clause])
        words = jnp.concatenate([said, jnp.where(changed, EMPTY, self.unchanged)])
        words = jnp.where(valid, jnp.pad(words, (0, self.unreadable.size), constant_values=EMPTY),
                          jnp.pad(self.unreadable, (0, words.size), constant_values=EMPTY))  # fmt: skip
        there = words != EMPTY
        place = jnp.where(there, jnp.cumsum(there) - 1, words.size)
        return jnp.full(self.config.summary_tokens, EMPTY).at[place].set(words, mode="drop")


def make_contexts(
    writer: PromptWriter,
    instruction: str,
    steps: int,
    *,
    image: int,
    grid: tuple[int, int],
    config: ContextConfig,
    answer: int,
    token_bytes: Mapping[int, bytes],
    at_least: int = 0,
) -> Contexts:
    """Makes the contexts of an episode of `steps` steps, whose answers have at most `answer` tokens; see
    `make_prompts`.

    Raises InputError where the tokenizer joins what stands between summaries to what is beside it, and for a context of
    fewer tokens than a prompt may take.
    """
    encode = writer.codec.encode
    shown = ShownObservation(image_tokens=math.prod(grid))
    head, example = writer.preamble(instruction, ""), writer.preamble(instruction, "a; a")
    word, joint = encode(" a"), encode(";")
    end = head[-1:]
    begun = example[: len(example) - len([*word, *joint, *word, *end])]
    if [*begun, *word, *joint, *word, *end] != example or len(joint) != 1:
        raise InputError(f"summaries must be such that the tokenizer cuts between them; got {example}")
    first, later = (
        [writer.observation(left, first=begins, shown=shown) for left in range(1, steps + 1)]
        for begins in (True, False)
    )
    longest_first, longest_later = (max(map(len, rows)) for rows in (first, later))
    width = max(longest_first, longest_later)
    line = config.summaries * (config.summary_tokens + 1) - 1 if config.summaries else 0
    needed = (len(begun) + line + len(end) if config.summaries else len(head)) + longest_first
    needed += (config.window - 1) * (answer + longest_later)
    if config.tokens and config.tokens < needed:
        raise InputError(
            f"rollout.context must be 0, or {needed} tokens or more for a window of {config.window} and "
            f"{config.summaries} summaries; got {config.tokens}"
        )
    is_comma = np.zeros(max(token_bytes) + 1, bool)
    is_comma[[token for token, written in token_bytes.items() if b"," in written]] = True
    tables = {
        "head": head,
        "head_with_memory": begun,
        "joint": joint,
        "end_of_head": end,
        "first": table(first, width),
        "later": table(later, width),
        "acted": encode(f" {summarize('', True, True)}"),
        "unreadable": encode(f" {summarize('', True, False)}"),
        "unchanged": encode(summarize("", False, True).removeprefix(summarize("", True, True))),
    }
    return Contexts(
        **{name: jnp.asarray(each, jnp.int32) for name, each in tables.items()},
        is_comma=jnp.asarray(is_comma),
        config=config,
        image=image,
        grid=grid,
        answer=answer,
        size=max(at_least, needed, config.tokens),
    )
