"""A packed minibatch of the shape that training makes, without trajectories: random tokens in windows of uneven length.

Axes: R rows, T tokens of a row, I images of a row, Q tokens of an image.
"""

from __future__ import annotations

import numpy as np

from experiments.gpu.sizes import Shapes
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs
from tars_jax.model.positions import rope_positions
from tars_jax.training.packing import Rows
from tars_jax.training.ppo import PPOBatch


def window_lengths(shapes: Shapes) -> list[int]:
    """Of one row: 1 to 2 to 3 ..., with a little padding behind the last."""
    room = shapes.row_length - shapes.row_length // 32
    parts = shapes.windows * (shapes.windows + 1) // 2
    return [room * part // parts for part in range(1, shapes.windows + 1)]


def packed_batch(model: ModelConfig, shapes: Shapes, seed: int) -> tuple[PPOBatch, list[int], int]:
    """The minibatch [R, T], the lengths of all its windows, and how many of its tokens were sampled."""
    rng = np.random.default_rng(seed)
    shape = (shapes.rows, shapes.row_length)
    grid = model.vision.token_grid(shapes.image_height, shapes.image_width) if shapes.images_per_row else (1, 1)
    per_image = grid[0] * grid[1]
    size = (shapes.image_height, shapes.image_width) if shapes.images_per_row else (1, 1)

    tokens = rng.integers(6, model.vocabulary, shape).astype(np.int32)
    segments, image_tokens = np.zeros(shape, np.int32), np.full(shape, -1, np.int32)
    positions, sampled = np.zeros((3, *shape), np.int32), np.zeros(shape, bool)
    lengths, start = window_lengths(shapes), 0
    for number, length in enumerate(lengths):
        span = slice(start, start + length)
        is_image = np.zeros(length, bool)
        if number >= shapes.windows - shapes.images_per_row:  # the longest windows
            is_image[1 : 1 + per_image] = True
            first = (number - shapes.windows + shapes.images_per_row) * per_image
            image_tokens[:, start + np.flatnonzero(is_image)] = first + np.arange(is_image.sum())
        segments[:, span] = number + 1
        positions[:, :, span] = rope_positions(is_image, grid)[0][:, None]
        sampled[:, start + length - int(length * shapes.sampled) : start + length] = True
        start += length
    tokens[segments == 0] = 0

    def noise(scale: float) -> np.ndarray:
        return np.where(sampled, rng.normal(0, scale, shape), 0).astype(np.float32)

    images = (rng.integers(0, 256, (shapes.rows, shapes.images_per_row, *size, 3), np.uint8),)
    inputs = Inputs(tokens, positions, segments, images if shapes.images_per_row else (), image_tokens)
    log_probs = np.where(sampled, -np.log(model.vocabulary), 0).astype(np.float32) + noise(0.01)
    rows = Rows(inputs, sampled, log_probs, np.zeros(shape, np.int32))
    batch = PPOBatch(rows, log_probs + noise(0.01), noise(1), sampled & (tokens % 2 > 0), noise(1), noise(1))
    return batch, lengths * shapes.rows, int(sampled.sum())
