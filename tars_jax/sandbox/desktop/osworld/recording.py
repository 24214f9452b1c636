"""A recording of a screen: a moving GIF of the pictures that differ, which needs no encoder of video."""

from __future__ import annotations

import asyncio
import contextlib
import io

from PIL import Image

from tars_jax.sandbox.desktop.desktop import Desktop
from tars_jax.sandbox.failures import SandboxFailure

PERIOD_S = 0.5
MOST_FRAMES = 1200  # the last one stays where there would be more


class ScreenRecording:
    """Looks at the screen every half second until `end`."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop
        self._frames: list[Image.Image] = []
        self._shown: list[int] = []  # milliseconds of each
        self._last = b""
        self._task = asyncio.create_task(self._look())

    async def end(self) -> bytes:
        """The GIF. Raises SandboxFailure when the desktop died meanwhile."""
        self.cancel()
        with contextlib.suppress(asyncio.CancelledError, SandboxFailure):
            await self._task
        await self._take()
        return await asyncio.to_thread(self._encode)

    def cancel(self) -> None:
        self._task.cancel()

    async def _look(self) -> None:
        while True:
            await self._take()
            await asyncio.sleep(PERIOD_S)

    async def _take(self) -> None:
        pixels = (await self._desktop.screenshot()).pixels
        data = pixels.tobytes()
        if data != self._last and len(self._frames) < MOST_FRAMES:
            self._frames.append(await asyncio.to_thread(Image.fromarray(pixels).quantize, 128))
            self._shown.append(0)
            self._last = data
        self._shown[-1] += round(PERIOD_S * 1000)

    def _encode(self) -> bytes:
        buffer = io.BytesIO()
        self._frames[0].save(
            buffer, "GIF", save_all=True, append_images=self._frames[1:], duration=self._shown, optimize=False
        )
        return buffer.getvalue()
