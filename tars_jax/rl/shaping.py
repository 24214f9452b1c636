"""What is added to the verifier's reward."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def soft_overlong_penalty(length: ArrayLike, max_length: int, cache: int) -> jax.Array:
    """A penalty that grows linearly over the last `cache` tokens before the length limit.

        0                               for y <= L_max - L_cache
        ((L_max - L_cache) - y) / L_cache   up to L_max
        -1                              above

    Source: DAPO (arXiv 2503.14476), "Soft overlong punishment".

    Args:
      length: any shape, y, tokens of a response.
      max_length: L_max, tokens.
      cache: L_cache, tokens, at least 1.

    Returns:
      The same shape as `length`, in [-1, 0].
    """
    return jnp.clip(((max_length - cache) - jnp.asarray(length, jnp.float32)) / cache, -1.0, 0.0)
