"""Context windows of many trajectories to rows of equal length.

Axes: R rows, T tokens of a row, I images of a row, Q tokens of an image, N trajectories, A action tokens of a
trajectory, L layers with experts, K experts of a token.

Each window is forwarded once. The action tokens of a trajectory are found again over all of its windows by their index
in the packed batch, so advantages run over the whole trajectory.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Sequence
from typing import Any

import flax.struct
import jax
import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.model.attention import most_windows
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, Inputs
from tars_jax.model.positions import rope_positions
from tars_jax.training.placement import beside, take_rows
from tars_jax.training.processes import fetched
from tars_jax.trajectory import ContextWindow, Trajectory


@flax.struct.dataclass
class Rows:
    """Packed windows with what was recorded at sampling time."""

    inputs: Inputs  # [R, T]
    action_mask: Array  # [R, T] bool: sampled tokens
    log_probs: Array  # [R, T] float32: behaviour policy
    versions: Array  # [R, T] int32: of the behaviour policy, -1 elsewhere


@dataclasses.dataclass(frozen=True)
class PackedBatch:
    """Rows, and where the action tokens of each trajectory stand in them."""

    rows: Rows
    action_index: np.ndarray  # [N, A] int32 into the flattened [R * T]
    action_valid: np.ndarray  # [N, A] bool
    action_step: np.ndarray  # [N, A] int32: the step of each action token


@dataclasses.dataclass(frozen=True)
class PackingConfig:
    row_length: int = 256
    images_per_row: int = 8


class Packer:
    """Packs trajectories for one model and one tokenizer."""

    def __init__(self, model: ModelConfig, config: PackingConfig, *, image: int) -> None:
        self._model, self._config, self._image = model, config, image

    def pack(self, trajectories: Sequence[Trajectory], rows_multiple: int, *, routes: bool = False) -> PackedBatch:
        """First-fit decreasing over (tokens, images), with no more windows in a row than the model's attention takes.

        The number of rows is a multiple of `rows_multiple`.

        `routes`: tokens go to the experts that were recorded while they were sampled.

        Raises InputError for a window that is longer than a row, for screenshots of several sizes, and for a window
        without the routes that are asked for or with those of another model.
        """
        config = self._config
        windows = [
            (number, trajectory, window)
            for number, trajectory in enumerate(trajectories)
            for window in trajectory.windows
        ]
        placed = self._place([(window.tokens.size, len(window.images)) for _, _, window in windows])
        num_rows = 1 + max((row for row, _, _ in placed), default=0)
        num_rows = -(-num_rows // rows_multiple) * rows_multiple
        pictures = _decode_screenshots(trajectories)
        size = next(iter(pictures.values())).shape if pictures else (0, 0, 3)
        grid = self._model.vision.token_grid(*size[:2]) if pictures else (0, 0)
        per_image = grid[0] * grid[1]

        shape = (num_rows, config.row_length)
        tokens, segments = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        positions = np.zeros((3, *shape), np.int32)
        images = np.zeros((num_rows, config.images_per_row if pictures else 0, *size), np.uint8)
        image_tokens = np.full(shape, -1, np.int32)
        action_mask = np.zeros(shape, bool)
        log_probs = np.zeros(shape, np.float32)
        versions = np.full(shape, -1, np.int32)
        replayed = None
        if routes:
            replayed = np.full((*shape, self._model.routed_layers, self._model.experts_per_token), -1, np.int16)
        actions: list[list[np.ndarray]] = [[] for _ in trajectories]
        action_steps: list[list[np.ndarray]] = [[] for _ in trajectories]
        count = np.zeros(num_rows, np.int32)
        for (number, trajectory, window), (row, start, first_image) in zip(windows, placed, strict=True):
            span = slice(start, start + window.tokens.size)
            is_image = window.tokens == self._image
            if is_image.sum() != per_image * len(window.images):
                raise InputError(
                    f"trajectory {trajectory.id}: a window has {is_image.sum()} image tokens, its {len(window.images)} "
                    f"images take {per_image} each"
                )
            count[row] += 1
            tokens[row, span] = window.tokens
            segments[row, span] = count[row]
            try:
                positions[:, row, span] = rope_positions(is_image, grid)[0]
            except InputError as error:
                raise InputError(f"trajectory {trajectory.id}: {error}") from error
            image_tokens[row, start + np.flatnonzero(is_image)] = first_image * per_image + np.arange(is_image.sum())
            for offset, step in enumerate(window.images):
                images[row, first_image + offset] = pictures[number, step]
            action_mask[row, span] = window.action_mask
            log_probs[row, span] = window.log_probs
            versions[row, span] = window.versions
            if replayed is not None:
                replayed[row, span] = self._routes(trajectory, window)
            acted = np.flatnonzero(window.action_mask)
            actions[number].append(row * config.row_length + start + acted)
            action_steps[number].append(window.steps[acted])

        index, valid = _padded(actions)
        steps, _ = _padded(action_steps)
        inputs = Inputs(tokens, positions, segments, images, image_tokens, routes=replayed)
        return PackedBatch(Rows(inputs, action_mask, log_probs, versions), index, valid, steps)

    def _routes(self, trajectory: Trajectory, window: ContextWindow) -> np.ndarray:
        """[T, L, K] of this model."""
        model, found = self._model, window.routes
        takes = (window.tokens.size, model.routed_layers, model.experts_per_token)
        if found is None or found.shape != takes or found.max(initial=-1) >= model.experts:
            raise InputError(
                f"trajectory {trajectory.id}: a window has routes {None if found is None else found.shape}, replaying "
                f"them takes {takes}, below {model.experts} (engine.record_routes records them)"
            )
        return found

    def _place(self, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
        """Row, first token and first image of each window."""
        config = self._config
        windows = most_windows(self._model.execution.attention_backend, config.row_length)
        free: list[list[int]] = []  # tokens, images, windows
        placed = [(0, 0, 0)] * len(sizes)
        for number in sorted(range(len(sizes)), key=lambda number: -sizes[number][0]):
            tokens, images = sizes[number]
            if tokens > config.row_length or images > config.images_per_row:
                raise InputError(
                    f"packing.row_length: a window of {tokens} tokens and {images} images does not fit a row of "
                    f"{config.row_length} tokens and {config.images_per_row} images"
                )
            fitting = (row for row, room in enumerate(free) if room[0] >= tokens and room[1] >= images and room[2])
            row = next(fitting, len(free))
            if row == len(free):
                free.append([config.row_length, config.images_per_row, windows])
            room = free[row]
            placed[number] = (row, config.row_length - room[0], config.images_per_row - room[1])
            room[0] -= tokens
            room[1] -= images
            room[2] -= 1
        return placed


def free_routes(rows: Rows) -> Rows:
    """The same rows for another model than the one that sampled them: its routers choose themselves."""
    return rows.replace(inputs=rows.inputs.replace(routes=None))  # type: ignore[attr-defined]


def with_features(rows: Rows, features: Array) -> Rows:
    """The rows with what an encoder says of their screenshots, [1 + F, R, I * Q, D], in place of these."""
    nothing = np.zeros((features.shape[1], 0, 1, 1, 3), np.uint8)
    return rows.replace(inputs=rows.inputs.replace(images=nothing, image_features=features))  # type: ignore[attr-defined]


def map_rows(function: Callable[[Any, Rows], jax.Array], parameters: Any, rows: Rows, at_a_time: int) -> np.ndarray:
    """`function(parameters, rows)` [R, T] of all rows, some at a time; packing made their number a multiple of it."""
    count = rows.action_mask.shape[0]
    parts = [
        function(parameters, beside(parameters, take_rows(rows, np.arange(first, first + at_a_time))))
        for first in range(0, count, at_a_time)
    ]
    return np.concatenate([fetched(part) for part in parts])


def _decode_screenshots(trajectories: Sequence[Trajectory]) -> dict[tuple[int, int], np.ndarray]:
    """The pixels of (trajectory, step) that windows show, both by their number: ids need not be unique in a batch."""
    pictures = {}
    for number, trajectory in enumerate(trajectories):
        for step in sorted({step for window in trajectory.windows for step in window.images}):
            where = f"trajectory {trajectory.id}: a window shows the screenshot of step {step}"
            if not 0 <= step < len(trajectory.steps):
                raise InputError(f"{where}, and there are {len(trajectory.steps)} steps")
            try:
                with Image.open(io.BytesIO(trajectory.steps[step].screenshot)) as picture:
                    pictures[number, step] = np.asarray(picture.convert("RGB"))
            except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
                raise InputError(f"{where}, which cannot be read: {error}") from error
    if len(sizes := {picture.shape[:2] for picture in pictures.values()}) > 1:
        raise InputError(f"screenshots of one batch must have one size, got {sorted(sizes)} (height, width)")
    return pictures


def _padded(columns: Sequence[Sequence[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Ragged columns to [N, A] and a mask of what is real; A is a multiple of 64, to keep the shapes few."""
    joined = [np.concatenate(column) if column else np.zeros(0, np.int32) for column in columns]
    width = -(-max((column.size for column in joined), default=0) // 64) * 64 or 64
    values, valid = np.zeros((len(joined), width), np.int32), np.zeros((len(joined), width), bool)
    for row, column in enumerate(joined):
        values[row, : column.size] = column
        valid[row, : column.size] = True
    return values, valid
