"""Episodes as arrays: what `Trajectory` is to episodes of a sandbox, for those that are played inside a program.

Axes: E episodes, S steps of an episode, T tokens of a step's window, H, W pixels.

Every step is a context window of its own: a prompt, padded in front, then the answer, padded behind. A prompt shows the
screenshots of the last `window` steps, its own among them. Steps after an episode's end are there, so that shapes are
fixed; `played` is false at them, and nothing of them counts.
"""

from __future__ import annotations

import flax.struct
import jax


@flax.struct.dataclass
class EpisodeArrays:
    """Whole episodes; all have ended, by the game, by the step budget or by unreadable answers."""

    tokens: jax.Array  # [E, S, T] int32
    positions: jax.Array  # [E, S, 3, T] int32: time, row, column
    segments: jax.Array  # [E, S, T] int32: 0 is padding
    image_tokens: jax.Array  # [E, S, T] int32: index into the tokens of the window's screenshots, -1 for text
    images: jax.Array  # [E, S, H, W, 3] uint8
    action_mask: jax.Array  # [E, S, T] bool: sampled tokens
    log_probs: jax.Array  # [E, S, T] float32, when they were sampled
    rewards: jax.Array  # [E, S] float32: the game's
    played: jax.Array  # [E, S] bool
    valid: jax.Array  # [E, S] bool: the answer could be read
    think_tokens: jax.Array  # [E, S] int32
    calls: jax.Array  # [E, S] int32: of an answer
    known: jax.Array  # [E, S] int32: the simulator's measure of how far there is to go, before the step
    succeeded: jax.Array  # [E] bool
    ended: jax.Array  # [E] bool: by the game or by unreadable answers; else the step budget ran out
    window: int = flax.struct.field(pytree_node=False, default=1)  # screenshots of a prompt
