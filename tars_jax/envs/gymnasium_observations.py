"""Observations of gymnasium as text and as pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

MOST_NUMBERS = 32  # of an observation that is text
_UNBOUNDED = 1e6  # beyond it a bound says nothing of the numbers that come
_DIGITS = 4  # of the largest number that bounds allow
_DECIMALS = 3  # of an unbounded number
_LEAST_SIDE, _MOST_FRAMES = 8, 16  # of pictures


def is_readable(space: spaces.Space[Any]) -> bool:
    """Whether an observation, without its pictures, is few enough numbers or text to be read as such."""
    return 0 < _numbers(space) <= MOST_NUMBERS


def observation_text(space: spaces.Space[Any], value: Any) -> str:
    """An observation as text, without its pictures: a dictionary's entries by name, on a line each.

    A number takes the same width whatever its value: four digits of the largest that its bounds allow, zeros in front,
    a sign where the bounds allow negative ones: +0.035 of -4.8 to 4.8, 007 of 0 to 499. Three decimals without bounds.
    """
    if isinstance(space, spaces.Dict):
        entries = [(name, inner) for name, inner in space.spaces.items() if not is_picture(inner)]
        return "\n".join(f"{name}: {observation_text(inner, value[name])}" for name, inner in entries)
    if isinstance(space, spaces.Tuple):
        parts = zip(space.spaces, value, strict=True)
        return "; ".join(observation_text(inner, part) for inner, part in parts if not is_picture(inner))
    if isinstance(space, spaces.Text):
        return str(value)
    low, high = _bounds(space)
    whole = not np.issubdtype(space.dtype, np.floating)
    each = zip(np.ravel(value).tolist(), low, high, strict=True)
    return ", ".join(_written(number, least, most, whole) for number, least, most in each)


def _written(number: float, low: float, high: float, whole: bool) -> str:
    sign = "+" if low < 0 else ""
    if not math.isfinite(number):
        return format(number, sign)
    largest = max(abs(low), abs(high))
    if whole:
        width = max(len(format(int(bound), sign)) for bound in (low, high)) if largest < _UNBOUNDED else 0
        return format(int(number), f"{sign}0{width}d")
    if largest >= _UNBOUNDED:
        return format(round(number, _DECIMALS) + 0.0, f"{sign}.{_DECIMALS}f")  # + 0.0: of -0 and 0
    decimals = 0 if largest == 0 else min(max(_DIGITS - 1 - math.floor(math.log10(largest)), 0), 6)
    width = max(len(format(bound, f"{sign}.{decimals}f")) for bound in (low, high))
    return format(round(number, decimals) + 0.0, f"{sign}0{width}.{decimals}f")


def observation_json(value: Any) -> Any:
    """An observation as JSON, for verification: arrays as lists if they are small; what is neither small nor JSON is
    left out."""
    if isinstance(value, Mapping):
        return {str(name): kept for name, each in value.items() if (kept := observation_json(each)) is not None}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return observation_json(value.tolist()) if value.size <= MOST_NUMBERS else None
    if isinstance(value, list | tuple):
        return [observation_json(each) for each in value] if len(value) <= MOST_NUMBERS else None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float) else None


# ---- pictures


def is_picture(space: spaces.Space[Any]) -> bool:
    """Whether samples are one picture, or a stack of frames: uint8 up to 255, [height, width], [height, width, channels
    or frames], [channels or frames, height, width] or [frames, height, width, channels], 8 pixels a side or more."""
    if not (isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) in (2, 3, 4)):
        return False
    if not space.shape[0] or space.high.max() < 255:
        return False
    if len(space.shape) == 4:
        count, height, width, channels = space.shape
        return count <= _MOST_FRAMES and channels in (1, 3) and min(height, width) >= _LEAST_SIDE
    sides, counts = sorted(space.shape)[-2:], [min(space.shape[0], space.shape[-1])] if len(space.shape) == 3 else []
    return min(sides) >= _LEAST_SIDE and all(0 < count <= _MOST_FRAMES for count in counts)


def shows_picture(space: spaces.Space[Any]) -> bool:
    """Whether an observation holds exactly one picture or stack of frames."""
    return len(list(_pictures(space, None))) == 1


def picture(space: spaces.Space[Any], value: Any) -> np.ndarray:
    """The picture of an observation that has one, uint8 [height, width, 3]; frames of a stack stand side by side, the
    first on the left."""
    (seen,) = _pictures(space, value)
    pixels = np.asarray(seen)
    if pixels.ndim == 3 and _frames_first(pixels.shape):
        pixels = np.moveaxis(pixels, 0, 2)
    if pixels.ndim == 4 or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        frames = list(pixels) if pixels.ndim == 4 else list(np.moveaxis(pixels, 2, 0))
        pixels = np.concatenate(frames, axis=1)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))


def _frames_first(shape: tuple[int, ...]) -> bool:
    return shape[0] < shape[2]


def _pictures(space: spaces.Space[Any], value: Any) -> Iterator[Any]:
    """Pictures of an observation; without one, a None for each picture of the space."""
    match space:
        case spaces.Dict():
            for name, inner in space.spaces.items():
                yield from _pictures(inner, None if value is None else value[name])
        case spaces.Tuple():
            for index, inner in enumerate(space.spaces):
                yield from _pictures(inner, None if value is None else value[index])
        case _ if is_picture(space):
            yield value


# ---- spaces


def _bounds(space: spaces.Space[Any]) -> tuple[list[float], list[float]]:
    """The least and the largest value of every number of an observation."""
    match space:
        case spaces.Discrete():
            return [int(space.start)], [int(space.start + space.n) - 1]
        case spaces.MultiDiscrete():
            return np.ravel(space.start).tolist(), np.ravel(space.start + space.nvec - 1).tolist()
        case spaces.MultiBinary():
            return [0] * math.prod(space.shape), [1] * math.prod(space.shape)
    assert isinstance(space, spaces.Box)  # others are not readable
    return np.ravel(space.low).tolist(), np.ravel(space.high).tolist()


def _numbers(space: spaces.Space[Any]) -> float:
    """Number of an observation's numbers, without its pictures; infinity for what cannot be written."""
    match space:
        case spaces.Discrete() | spaces.Text():
            return 1
        case _ if is_picture(space):
            return 0
        case spaces.MultiDiscrete() | spaces.MultiBinary() | spaces.Box():
            return math.prod(space.shape)
        case spaces.Dict():
            return sum(map(_numbers, space.spaces.values()))
        case spaces.Tuple():
            return sum(map(_numbers, space.spaces))
    return math.inf
