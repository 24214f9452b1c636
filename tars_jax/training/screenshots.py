"""The screenshots of packed windows: arrays of the rows, one for each size.

Axes: R rows, I images of one size in a row, Q tokens of an image, P image tokens of a window.

Sizes stand by height, then width, and the image tokens of a row are numbered through all of its sizes. A batch of one
size has always as many places as a row may have images; of several, each size has as many as its fullest row takes,
rounded up to a power of two: shapes are few, and padding is at most what occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tars_jax import InputError
from tars_jax.model.config import VisionConfig
from tars_jax.pictures import pixels_of
from tars_jax.trajectory import Trajectory


class WindowImages(NamedTuple):
    """Places of a window's screenshots in its row."""

    grids: tuple[tuple[int, int], ...]  # rows and columns of the tokens of each
    image_tokens: np.ndarray  # [P] int32: of the row's image tokens, those of the window in order


def decode_screenshots(trajectories: Sequence[Trajectory], vision: VisionConfig) -> dict[tuple[int, int], np.ndarray]:
    """The pixels of (trajectory, step) that windows show, both by their number: ids need not be unique in a batch.

    Raises InputError for a step that there is not, that has no screenshot, or one that cannot be read.
    """
    pictures = {}
    for number, trajectory in enumerate(trajectories):
        for step in sorted({step for window in trajectory.windows for step in window.images}):
            where = f"trajectory {trajectory.id}: a window shows the screenshot of step {step}"
            if not 0 <= step < len(trajectory.steps):
                raise InputError(f"{where}, and there are {len(trajectory.steps)} steps")
            if not (screenshot := trajectory.steps[step].screenshot):
                raise InputError(f"{where}, which has none")
            pixels = pixels_of(screenshot, f"{where}, which")
            try:
                vision.token_grid(*pixels.shape[:2])
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            pictures[number, step] = pixels
    return pictures


def row_images(
    shown: Sequence[Sequence[np.ndarray]],
    placed: Sequence[tuple[int, int]],
    num_rows: int,
    images_per_row: int,
    vision: VisionConfig,
) -> tuple[tuple[np.ndarray, ...], list[WindowImages]]:
    """`Inputs.images` [R, I, height, width, 3] of each size, and where each window's own stand.

    Args:
        shown: the screenshots of each window, uint8 [height, width, 3].
        placed: row and first token of each window; no row holds more screenshots than `images_per_row`.
    """
    sizes = sorted({pixels.shape for window in shown for pixels in window})
    kind = {size: index for index, size in enumerate(sizes)}
    taken = np.zeros((num_rows, len(sizes)), int)
    places: list[list[int]] = [[] for _ in shown]
    for number in sorted(range(len(shown)), key=placed.__getitem__):
        for pixels in shown[number]:
            places[number].append(taken[placed[number][0], kind[pixels.shape]])
            taken[placed[number][0], kind[pixels.shape]] += 1

    widths = [min(images_per_row, 1 << (int(most) - 1).bit_length()) for most in taken.max(0)]
    if len(sizes) == 1:
        widths = [images_per_row]
    images = tuple(np.zeros((num_rows, width, *size), np.uint8) for width, size in zip(widths, sizes, strict=True))
    grids = [vision.token_grid(*size[:2]) for size in sizes]
    tokens = [rows * columns for rows, columns in grids]
    firsts = np.cumsum([0, *(width * each for width, each in zip(widths, tokens, strict=True))])

    found = []
    for (row, _), window, at in zip(placed, shown, places, strict=True):
        kinds = [kind[pixels.shape] for pixels in window]
        ranges = [np.zeros(0, np.int32)]
        for index, place, pixels in zip(kinds, at, window, strict=True):
            images[index][row, place] = pixels
            ranges.append(firsts[index] + place * tokens[index] + np.arange(tokens[index], dtype=np.int32))
        found.append(WindowImages(tuple(grids[index] for index in kinds), np.concatenate(ranges)))
    return images, found
