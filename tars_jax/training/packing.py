"""Context windows of many trajectories to rows of equal length.

Axes: R rows, T tokens of a row, I images of one size in a row, Q tokens of an image, N trajectories, A action tokens
of a trajectory, L layers with experts, K experts of a token.

Each window is forwarded once. The action tokens of a trajectory are found again over all of its windows by their index
in the packed batch, so advantages run over the whole trajectory.
"""

from __future__ import annotations

import collections
import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flax.struct
import jax
import numpy as np

from tars_jax import InputError
from tars_jax.model.attention import most_windows
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, Inputs
from tars_jax.model.positions import rope_positions
from tars_jax.training.minibatches import shard_batch, take_rows
from tars_jax.training.processes import all_gathered
from tars_jax.training.screenshots import decode_screenshots, row_images
from tars_jax.trajectory import ContextWindow, Trajectory
from tars_jax.trajectory.checks import check_windows

log = logging.getLogger(__name__)


ANSWER, LINE = 1, 2  # a turn's answer, and what was written before it to be remembered, in the window before


class NonePackable(InputError):
    """None of several trajectories can be packed; it says what is wrong with the first."""


@flax.struct.dataclass
class Rows:
    """Packed windows with what was recorded at sampling time."""

    inputs: Inputs  # [R, T]
    action_mask: Array  # [R, T] bool: sampled tokens; with `states`, those that there was a choice of
    log_probs: Array  # [R, T] float32: behavior policy
    versions: Array  # [R, T] int32: of the behavior policy, -1 elsewhere
    # Of the constraint that the tokens were sampled under (constrained.py); None: there was none.
    states: Any = None  # [R, T] int32
    budgets: Any = None  # [R, T] int32


@dataclasses.dataclass(frozen=True)
class PackedBatch:
    """Rows, and where the action tokens of each trajectory stand in them."""

    rows: Rows
    action_index: np.ndarray  # [N, A] int32 into the flattened [R * T]
    action_valid: np.ndarray  # [N, A] bool: no padding, and not forced by a constraint
    action_step: np.ndarray  # [N, A] int32: the step of each action token
    begins: np.ndarray  # [N, A] int32: ANSWER or LINE at the first token of one, 0 elsewhere


class Readable(NamedTuple):
    """A trajectory that can be packed, with what was read of it."""

    trajectory: Trajectory
    shown: tuple[list[np.ndarray], ...]  # of each window, the pixels of its screenshots
    positions: tuple[np.ndarray, ...]  # of each window, [3, T]


@dataclasses.dataclass(frozen=True)
class PackingConfig:
    row_length: int
    images_per_row: int  # of all sizes together


class Packer:
    """Packs trajectories for one model and one tokenizer."""

    def __init__(self, model: ModelConfig, config: PackingConfig, *, image: int) -> None:
        self._model, self._config, self._image = model, config, image

    def sort_out(
        self, trajectories: Sequence[Trajectory], *, routes: bool = False
    ) -> tuple[list[Readable], list[InputError]]:
        """Splits trajectories into those that can be packed, in order, and the errors of the others, which the log
        counts.

        Raises NonePackable where none can be.
        """
        kept: list[Readable] = []
        errors: list[InputError] = []
        for trajectory in trajectories:
            try:
                kept.append(self.read(trajectory, routes=routes))
            except InputError as error:
                errors.append(error)
        if errors and not kept:
            raise NonePackable(str(errors[0])) from errors[0]
        if errors:
            log.warning("%d of %d trajectories cannot be packed and are left out; the first: %s", len(errors),
                        len(trajectories), errors[0])  # fmt: skip
        return kept, errors

    def read(self, trajectory: Trajectory, *, routes: bool = False) -> Readable:
        """Reads what packing needs of one trajectory.

        Raises InputError for a window that is longer than a row, for one whose image tokens are not those of its
        screenshots, for one without the routes that are asked for or with those of another model, and for one that
        begins with a sampled token: so nothing is ever read from the window that is packed before.
        """
        config, vision = self._config, self._model.vision
        source = f"trajectory {trajectory.id}"
        check_windows(trajectory, source)
        for window in trajectory.windows:
            tokens, images = window.tokens.size, len(window.images)
            if tokens > config.row_length or images > config.images_per_row:
                raise InputError(
                    f"packing.row_length: a window of {tokens} tokens and {images} images does not fit a row of "
                    f"{config.row_length} tokens and {config.images_per_row} images"
                )
            if routes:
                self._routes(trajectory, window)
        pictures = decode_screenshots([trajectory], vision)
        shown, positions = [], []
        for index, window in enumerate(trajectory.windows):
            where = f"{source}: field windows[{index}].tokens"
            own = [pictures[0, step] for step in window.images]
            grids = [vision.token_grid(*pixels.shape[:2]) for pixels in own]
            is_image = window.tokens == self._image
            if is_image.sum() != (wanted := sum(rows * columns for rows, columns in grids)):
                sizes = collections.Counter("{}x{}".format(*pixels.shape) for pixels in own)
                listed = ", ".join(f"{many} of {size}" for size, many in sizes.items()) or "none"
                raise InputError(
                    f"{where} must hold {wanted} image tokens for its screenshots ({listed}); got {is_image.sum()}"
                )
            try:
                positions.append(rope_positions(is_image, grids)[0])
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            shown.append(own)
        return Readable(trajectory, tuple(shown), tuple(positions))

    def pack(self, trajectories: Sequence[Trajectory], rows_multiple: int, *, routes: bool = False) -> PackedBatch:
        """Reads and packs trajectories. Raises InputError as `read` does."""
        read = [self.read(trajectory, routes=routes) for trajectory in trajectories]
        return self.pack_read(read, rows_multiple, routes=routes)

    def pack_read(
        self,
        trajectories: Sequence[Readable],
        rows_multiple: int,
        *,
        routes: bool = False,
        parts: Sequence[int] | np.ndarray | None = None,
    ) -> PackedBatch:
        """First-fit decreasing over (tokens, images), with no more windows in a row than the model's attention takes.

        The number of rows is a multiple of `rows_multiple`. `parts`: one for each trajectory; those of two parts never
        share a row.

        `routes`: tokens go to the experts that were recorded while they were sampled; `read` was told so, too.
        """
        config = self._config
        windows = [
            (number, read, index, window)
            for number, read in enumerate(trajectories)
            for index, window in enumerate(read.trajectory.windows)
        ]
        sizes = [(window.tokens.size, len(window.images)) for *_, window in windows]
        placed = self._place(sizes, [0 if parts is None else parts[number] for number, *_ in windows])
        num_rows = 1 + max((row for row, _ in placed), default=0)
        num_rows = -(-num_rows // rows_multiple) * rows_multiple
        shown = [read.shown[index] for _, read, index, _ in windows]
        images, placed_images = row_images(shown, placed, num_rows, config.images_per_row, self._model.vision)

        shape = (num_rows, config.row_length)
        tokens, segments = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        positions = np.zeros((3, *shape), np.int32)
        image_tokens = np.full(shape, -1, np.int32)
        action_mask = np.zeros(shape, bool)
        log_probs = np.zeros(shape, np.float32)
        versions = np.full(shape, -1, np.int32)
        replayed = None
        if routes:
            replayed = np.full((*shape, self._model.routed_layers, self._model.experts_per_token), -1, np.int16)
        actions: list[list[np.ndarray]] = [[] for _ in trajectories]
        action_steps: list[list[np.ndarray]] = [[] for _ in trajectories]
        begins: list[list[np.ndarray]] = [[] for _ in trajectories]
        answered = [_answered_in(read.trajectory) for read in trajectories]
        count = np.zeros(num_rows, np.int32)
        for at, (number, read, index, window) in enumerate(windows):
            row, start = placed[at]
            span = slice(start, start + window.tokens.size)
            count[row] += 1
            tokens[row, span] = window.tokens
            segments[row, span] = count[row]
            positions[:, row, span] = read.positions[index]
            image_tokens[row, start + np.flatnonzero(window.tokens == self._image)] = placed_images[at].image_tokens
            action_mask[row, span] = window.action_mask
            log_probs[row, span] = window.log_probs
            versions[row, span] = window.versions
            if replayed is not None:
                assert window.routes is not None, "read() was told of routes"
                replayed[row, span] = window.routes
            acted = np.flatnonzero(window.action_mask)
            actions[number].append(row * config.row_length + start + acted)
            own = window.steps[acted]
            action_steps[number].append(own)
            kind = np.where([answered[number][step] == index for step in own.tolist()], ANSWER, LINE)
            begins[number].append(np.where(np.diff(own, prepend=-1) != 0, kind, 0).astype(np.int32))

        places, valid = _padded(actions)
        steps, _ = _padded(action_steps)
        beginnings, _ = _padded(begins)
        inputs = Inputs(tokens, positions, segments, images, image_tokens, routes=replayed)
        return PackedBatch(Rows(inputs, action_mask, log_probs, versions), places, valid, steps, beginnings)

    def _routes(self, trajectory: Trajectory, window: ContextWindow) -> None:
        """Raises InputError unless the window's are [T, L, K] of this model."""
        model, found = self._model, window.routes
        shape = (window.tokens.size, model.routed_layers, model.experts_per_token)
        if found is None or found.shape != shape or found.max(initial=-1) >= model.experts:
            raise InputError(
                f"trajectory {trajectory.id}: routes to replay must be {shape}, each below {model.experts} "
                f"(engine.record_routes records them); got {None if found is None else found.shape}"
            )

    def _place(self, sizes: Sequence[tuple[int, int]], parts: Sequence[int]) -> list[tuple[int, int]]:
        """Row and first token of windows of so many tokens and images, each of a part."""
        config = self._config
        windows = most_windows(self._model.execution.attention_backend, config.row_length)
        free: list[list[int]] = []  # tokens, images, windows, and the part
        placed = [(0, 0)] * len(sizes)
        for number in sorted(range(len(sizes)), key=lambda number: -sizes[number][0]):
            (tokens, images), part = sizes[number], parts[number]
            fitting = (
                row
                for row, room in enumerate(free)
                if room[0] >= tokens and room[1] >= images and room[2] and room[3] == part
            )
            row = next(fitting, len(free))
            if row == len(free):
                free.append([config.row_length, config.images_per_row, windows, part])
            room = free[row]
            placed[number] = (row, config.row_length - room[0])
            room[0] -= tokens
            room[1] -= images
            room[2] -= 1
        return placed


def _answered_in(trajectory: Trajectory) -> dict[int, int]:
    """Maps each step to the window that holds its answer: the last one in which something was sampled for it."""
    return {
        step: index
        for index, window in enumerate(trajectory.windows)
        for step in np.unique(window.steps[window.action_mask]).tolist()
    }


def free_routes(rows: Rows) -> Rows:
    """The same rows for another model than the one that sampled them: its routers choose themselves."""
    return rows.replace(inputs=rows.inputs.replace(routes=None))  # type: ignore[attr-defined]


def with_features(rows: Rows, features: Array) -> Rows:
    """The rows with what an encoder says of their screenshots, [1 + F, R, I * Q of all sizes, D], in place of these."""
    return rows.replace(inputs=rows.inputs.replace(images=(), image_features=features))  # type: ignore[attr-defined]


def map_rows(function: Callable[[Any, Rows], jax.Array], parameters: Any, rows: Rows, at_a_time: int) -> np.ndarray:
    """`function(parameters, rows)` [R, T] of all rows, some at a time; packing made their number a multiple of it."""
    count = rows.action_mask.shape[0]
    parts = [
        function(parameters, shard_batch(parameters, take_rows(rows, np.arange(first, first + at_a_time))))
        for first in range(0, count, at_a_time)
    ]
    return np.concatenate([all_gathered(part) for part in parts])


def _padded(columns: Sequence[Sequence[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Ragged columns to [N, A] and a mask of what is real; A is a multiple of 64, and of an eighth of the power of two
    below it, to keep the shapes few."""
    joined = [np.concatenate(column) if column else np.zeros(0, np.int32) for column in columns]
    longest = max((column.size for column in joined), default=0)
    unit = max(64, 1 << max(longest.bit_length() - 4, 0))
    width = -(-longest // unit) * unit or unit
    values, valid = np.zeros((len(joined), width), np.int32), np.zeros((len(joined), width), bool)
    for row, column in enumerate(joined):
        values[row, : column.size] = column
        valid[row, : column.size] = True
    return values, valid


def rows_of_update(update: int, num_rows: int, batch_rows: int, seed: int) -> np.ndarray:
    """Indices of the rows of update number `update`: every epoch in a new order.

    It depends on the seed and the epoch alone, so a resumed run goes on with the order that it would have had.

    The last rows of an epoch that do not fill a batch are left out of it.
    """
    per_epoch = max(num_rows // batch_rows, 1)
    epoch, number = divmod(update, per_epoch)
    order = np.random.default_rng((seed, epoch)).permutation(num_rows)
    return order[number * batch_rows : (number + 1) * batch_rows]
