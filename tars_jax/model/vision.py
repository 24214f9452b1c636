"""The vision encoder: patches of a screenshot to tokens of the decoder.

Axes: I images, P patches, D width, N heads, H head dimension, Q decoder tokens of an image,
W windows, S patches of a window.
"""

from __future__ import annotations

import functools
from typing import Any

import einops
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.model.config import VisionConfig
from tars_jax.model.positions import rotate
from tars_jax.model.preprocessing import patches
from tars_jax.model.sharding import constrain


def patch_coordinates(rows: int, columns: int, merge: int) -> np.ndarray:
    """Row and column [2, P] of each patch in the order of `patches`."""
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    return einops.rearrange(grid, "two (h mh) (w mw) -> two (h w mh mw)", mh=merge, mw=merge)


def grid_interpolation(size: int, grid: int) -> np.ndarray:
    """[size, grid] weights that read a learned line of `grid` entries at `size` points, corners aligned."""
    at = np.linspace(0, grid - 1, size)
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(grid))).astype(np.float32)


def windows_of(row: np.ndarray, column: np.ndarray, side: int) -> np.ndarray:
    """[W, S] patches of each window of side x side patches, in order; -1 fills up the windows at the edges."""
    _, window = np.unique(np.stack([row // side, column // side]), axis=1, return_inverse=True)
    members = [np.flatnonzero(window.ravel() == number) for number in range(window.max() + 1)]
    table = np.full((len(members), max(map(len, members))), -1)
    for number, patches_of_window in enumerate(members):
        table[number, : len(patches_of_window)] = patches_of_window
    return table


def windowed_attention(q: jax.Array, k: jax.Array, v: jax.Array, windows: np.ndarray | None) -> jax.Array:
    """Attention [I, P, N, H] over the whole image, or within each window of `windows` [W, S]."""
    if windows is None:
        return jax.nn.dot_product_attention(q, k, v)
    real, num_images = windows >= 0, q.shape[0]
    q, k, v = (einops.rearrange(each[:, windows], "i w s n h -> (i w) s n h") for each in (q, k, v))
    mask = np.tile(real[:, None, None], (num_images, 1, windows.shape[1], 1))
    y = jax.nn.dot_product_attention(q, k, v, mask=mask)
    place = np.flatnonzero(real)[np.argsort(windows[real])]  # of each patch among all places in windows
    return einops.rearrange(y, "(i w) s n h -> i (w s) n h", i=num_images)[:, place]


class VisionBlock(nn.Module):
    """Pre-norm attention over the patches of one image or window, then an MLP."""

    config: VisionConfig
    dtype: str

    @nn.compact
    def __call__(self, x: jax.Array, cosine: jax.Array, sine: jax.Array, windows: np.ndarray | None) -> jax.Array:
        config = self.config
        head_dim = config.width // config.heads
        x = constrain(x, "batch", None, None)
        dense = functools.partial(nn.Dense, dtype=self.dtype)
        norm = functools.partial(_norm(config), dtype=self.dtype)
        y = norm(name="attention_norm")(x)
        qkv = dense(3 * config.width, name="qkv")(y)
        q, k, v = einops.rearrange(qkv, "i p (three n h) -> three i p n h", three=3, n=config.heads, h=head_dim)
        y = windowed_attention(rotate(q, cosine, sine), rotate(k, cosine, sine), v, windows)
        x = x + dense(config.width, name="attention_out")(einops.rearrange(y, "i p n h -> i p (n h)"))
        y = norm(name="mlp_norm")(x)
        if config.gated:
            y = nn.silu(dense(config.mlp_width, name="mlp_gate")(y)) * dense(config.mlp_width, name="mlp_up")(y)
        else:
            y = nn.gelu(dense(config.mlp_width, name="mlp_in")(y), approximate=True)
        return x + dense(config.width, name="mlp_out")(y)


def _norm(config: VisionConfig) -> Any:
    return functools.partial(nn.RMSNorm if config.gated else nn.LayerNorm, epsilon=1e-6)


class VisionEncoder(nn.Module):
    """The encoder: screenshots uint8 [I, height, width, 3] to features [1 + F, I, Q, out_width].

    The first stand in for the image tokens; the F others (DeepStack) are added to them after the first F layers of the
    decoder.
    """

    config: VisionConfig
    out_width: int
    dtype: str = "float32"
    remat: bool = False  # blocks are computed again in the backward pass: attention of one block at a time is in memory

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        config = self.config
        token_rows, token_columns = config.token_grid(images.shape[1], images.shape[2])
        rows, columns = token_rows * config.merge, token_columns * config.merge
        row, column = patch_coordinates(rows, columns, config.merge)
        embed = nn.Dense(config.width, use_bias=not config.gated, dtype=self.dtype, name="patch_embed")
        x = embed(patches(images, config))
        if config.grid:
            grid = self.param("position", nn.initializers.normal(0.5), (config.grid, config.grid, config.width))
            learned = jnp.einsum(
                "hs,wt,stD->hwD", grid_interpolation(rows, config.grid), grid_interpolation(columns, config.grid), grid
            )
            x = x + learned[row, column].astype(x.dtype)

        # 2-D rotary: half of the frequencies turn with the row, half with the column.
        quarter = config.width // config.heads // 4
        frequency = config.rope_theta ** (-np.arange(quarter) / quarter)
        angle = np.concatenate([row[:, None] * frequency, column[:, None] * frequency], axis=-1)[None]
        cosine, sine = jnp.asarray(np.cos(angle), jnp.float32), jnp.asarray(np.sin(angle), jnp.float32)

        windows = windows_of(row, column, config.window // config.patch) if config.window else None
        block = nn.remat(VisionBlock, static_argnums=(4,)) if self.remat else VisionBlock
        deepstack = []
        for layer in range(config.depth):
            seen = None if layer in config.whole_image_blocks else windows
            x = block(config, self.dtype, name=f"block_{layer}")(x, cosine, sine, seen)
            if layer in config.deepstack:
                name = f"deepstack_{config.deepstack.index(layer)}"
                deepstack.append(self._merge(name, x, norm_first=False))
        return jnp.stack([self._merge("merge", x, norm_first=True), *deepstack])

    def _merge(self, name: str, x: jax.Array, norm_first: bool) -> jax.Array:
        """Patches [I, P, D] to decoder tokens [I, Q, out_width]: norm and concatenation of neighbors, then an MLP."""
        norm, neighbors = _norm(self.config)(dtype=self.dtype, name=f"{name}_norm"), self.config.merge**2
        x = norm(x) if norm_first else x
        x = einops.rearrange(x, "i (q m) d -> i q (m d)", m=neighbors)
        x = x if norm_first else norm(x)
        hidden = nn.Dense(neighbors * self.config.width, dtype=self.dtype, name=f"{name}_in")(x)
        return nn.Dense(self.out_width, dtype=self.dtype, name=f"{name}_out")(nn.gelu(hidden, approximate=False))
