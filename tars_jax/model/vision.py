"""The vision encoder: patches of a screenshot to tokens of the decoder.

Axes: I images, P patches, D width, N heads, H head dimension, Q decoder tokens of an image.
"""

from __future__ import annotations

import einops
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.model.config import VisionConfig
from tars_jax.model.positions import rotate


def patches(images: jax.Array, patch: int, merge: int) -> jax.Array:
    """uint8 [I, height, width, 3] to [I, P, patch * patch * 3] in -1..1; a decoder token's patches are neighbours."""
    flat = einops.rearrange(
        images, "i (h mh p) (w mw q) c -> i (h w mh mw) (c p q)", p=patch, q=patch, mh=merge, mw=merge
    )
    return flat.astype(jnp.float32) / 127.5 - 1.0


def _coordinates(rows: int, columns: int, merge: int) -> np.ndarray:
    """Row and column [2, P] of each patch in the order of `patches`."""
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    return einops.rearrange(grid, "two (h mh) (w mw) -> two (h w mh mw)", mh=merge, mw=merge)


def _interpolation(size: int, grid: int) -> np.ndarray:
    """[size, grid] weights that read a learned line of `grid` entries at `size` points, corners aligned."""
    at = np.linspace(0, grid - 1, size)
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(grid))).astype(np.float32)


class VisionBlock(nn.Module):
    """Pre-norm attention over all patches of one image, then an MLP."""

    config: VisionConfig

    @nn.compact
    def __call__(self, x: jax.Array, cosine: jax.Array, sine: jax.Array) -> jax.Array:
        config = self.config
        head_dim = config.width // config.heads
        y = nn.LayerNorm(epsilon=1e-6, name="attention_norm")(x)
        qkv = nn.Dense(3 * config.width, name="qkv")(y)
        q, k, v = einops.rearrange(qkv, "i p (three n h) -> three i p n h", three=3, n=config.heads, h=head_dim)
        y = jax.nn.dot_product_attention(rotate(q, cosine, sine), rotate(k, cosine, sine), v)
        x = x + nn.Dense(config.width, name="attention_out")(einops.rearrange(y, "i p n h -> i p (n h)"))
        y = nn.LayerNorm(epsilon=1e-6, name="mlp_norm")(x)
        y = nn.gelu(nn.Dense(config.mlp_width, name="mlp_in")(y), approximate=True)
        return x + nn.Dense(config.width, name="mlp_out")(y)


class VisionEncoder(nn.Module):
    """Screenshots uint8 [I, height, width, 3] to decoder tokens [I, Q, out_width]."""

    config: VisionConfig
    out_width: int

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        config = self.config
        token_rows, token_columns = config.token_grid(images.shape[1], images.shape[2])
        rows, columns = token_rows * config.merge, token_columns * config.merge
        x = nn.Dense(config.width, name="patch_embed")(patches(images, config.patch, config.merge))

        grid = self.param("position", nn.initializers.normal(0.5), (config.grid, config.grid, config.width))
        learned = jnp.einsum(
            "hs,wt,stD->hwD", _interpolation(rows, config.grid), _interpolation(columns, config.grid), grid
        )
        row, column = _coordinates(rows, columns, config.merge)
        x = x + learned[row, column]

        # 2-D rotary: half of the frequencies turn with the row, half with the column.
        quarter = config.width // config.heads // 4
        frequency = config.rope_theta ** (-np.arange(quarter) / quarter)
        angle = np.concatenate([row[:, None] * frequency, column[:, None] * frequency], axis=-1)[None]
        cosine, sine = jnp.asarray(np.cos(angle), jnp.float32), jnp.asarray(np.sin(angle), jnp.float32)
        for layer in range(config.depth):
            x = VisionBlock(config, name=f"block_{layer}")(x, cosine, sine)

        x = nn.LayerNorm(epsilon=1e-6, name="merge_norm")(x)
        x = einops.rearrange(x, "i (q m) d -> i q (m d)", m=config.merge**2)
        x = nn.gelu(nn.Dense(config.merge**2 * config.width, name="merge_in")(x), approximate=False)
        return nn.Dense(self.out_width, name="merge_out")(x)
