"""Screenshots and windows of a desktop as plain values: nothing here needs X."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from tars_jax.sandbox.desktop.png import PngEncoder


class Screenshot:
    """A picture of a screen. It is encoded when a PNG is asked for, as pixels are what most callers take."""

    def __init__(self, frame: np.ndarray, encoder: PngEncoder | None = None) -> None:
        """Takes np.uint8 [H, W, 4] over: blue, green, red and what nobody reads.

        `encoder`: that of the screen, which knows what it showed before.
        """
        frame.flags.writeable = False
        self._frame, self._encoder = frame, encoder or PngEncoder()

    @property
    def size(self) -> tuple[int, int]:
        """Size in pixels, (width, height)."""
        return self._frame.shape[1], self._frame.shape[0]

    @property
    def pixels(self) -> np.ndarray:
        """np.uint8 [H, W, 3]; not writable, and a view whose rows do not lie together."""
        return self._frame[..., 2::-1]

    @functools.cached_property
    def png(self) -> bytes:
        return self._encoder.encode(self._frame)


@dataclasses.dataclass(frozen=True)
class WindowInfo:
    id: int
    title: str
    app: tuple[str, str]  # WM_CLASS: (name of the instance, name of the class)
    process: int | None  # id inside, by the X server; None: another one made it
    x: int  # of the content, in pixels of the screen
    y: int
    width: int
    height: int
    active: bool
