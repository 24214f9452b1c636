"""Browsers that start with the first page that is wanted."""

from __future__ import annotations

import asyncio

from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.manager import BrowserManager


class OnDemandBrowsers:
    """Until `close`."""

    def __init__(self, config: BrowserConfig) -> None:
        self._config = config
        self._starting = asyncio.Lock()
        self._manager: BrowserManager | None = None

    async def started(self) -> BrowserManager:
        """Raises InputError where there is no Chromium."""
        async with self._starting:
            if self._manager is None:
                manager = BrowserManager(self._config)
                await manager.start()
                self._manager = manager
            return self._manager

    async def close(self) -> None:
        """Twice is once; pages that are asked for afterwards start others."""
        async with self._starting:
            manager, self._manager = self._manager, None
            if manager is not None:
                await manager.close()
