"""Frames of a video that another tool has kept, where PyAV is installed (the extra `speech` brings it)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tars_jax import InputError

EVERY_S = 0.25
_SHADE = 24  # of 255: what compression alone changes in a pixel
_SHARE = 2e-4  # of the pixels: a caret is less


class NoDecoder(Exception):
    """PyAV is not installed."""


def changed_frames(file: Path) -> Iterator[tuple[float, bytes]]:
    """(seconds from its beginning, PNG) of the first frame and of each, four times a second, that shows something new.

    Raises NoDecoder, and InputError for what is no video.
    """
    try:
        import av
    except ImportError as error:
        raise NoDecoder("frames of a video take the extra speech, tars_jax[speech]") from error
    try:
        with av.open(str(file)) as container:
            if not container.streams.video:
                raise InputError(f"{file} must be a video; got a file without pictures")
            following, last = 0.0, None
            for frame in container.decode(video=0):
                if frame.time is None or frame.time < following:
                    continue
                following = frame.time + EVERY_S
                pixels = frame.to_ndarray(format="rgb24")
                if last is None or _differ(pixels, last):
                    last = pixels
                    buffer = io.BytesIO()
                    frame.to_image().save(buffer, "PNG", compress_level=1)
                    yield frame.time, buffer.getvalue()
    except (av.FFmpegError, OSError) as error:
        raise InputError(f"{file} must be a video; {error}") from error


def _differ(pixels: np.ndarray, last: np.ndarray) -> bool:
    if pixels.shape != last.shape:
        return True
    other = np.abs(pixels.astype(np.int16) - last).max(axis=-1) > _SHADE
    return bool(other.mean() > _SHARE)
