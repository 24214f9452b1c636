"""Environments and browsers for synchronous callers: one event loop in a thread, a browser manager per configuration.

All environments of a process share them; the last one that lets go of a manager closes it, and the last manager takes
the thread with it. Browsers that nobody closed die with the process (sandbox/browser/reaper.py).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeAlias, TypeVar

from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.service import BrowserClient, browsers

T = TypeVar("T")
_Browsers: TypeAlias = tuple[BrowserConfig, SandboxAddress | None]  # None: of this process


class Background:
    """Runs coroutines and keeps managers for callers without an event loop of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._managers: dict[_Browsers, BrowserManager | BrowserClient] = {}
        self._users: dict[_Browsers | None, int] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` on the background loop and waits for it; an interrupt of the waiting cancels it."""
        assert self._loop is not None, "acquire a manager first"
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def hold(self) -> None:
        """Keeps the loop, for work that takes no browser, until a `release` of None."""
        with self._lock:
            self._start_loop()
            self._users[None] = self._users.get(None, 0) + 1

    def acquire(self, config: BrowserConfig, at: SandboxAddress | None = None) -> BrowserManager | BrowserClient:
        """The manager for `config` of a service, or here, started. Every `acquire` wants one `release`."""
        key = config, at
        with self._lock:
            if key not in self._managers:
                self._start_loop()
                manager = browsers(config, at)
                try:
                    self.run(manager.start())
                except BaseException:
                    self._stop_loop_if_idle()
                    raise
                self._managers[key] = manager
            self._users[key] = self._users.get(key, 0) + 1
            return self._managers[key]

    def release(self, config: BrowserConfig | None, at: SandboxAddress | None = None) -> None:
        key = None if config is None else (config, at)
        with self._lock:
            self._users[key] -= 1
            if not self._users[key]:
                self._close_manager(key)

    def _close_manager(self, key: _Browsers | None) -> None:
        del self._users[key]
        try:
            if key is not None:
                self.run(self._managers.pop(key).close())
        finally:
            self._stop_loop_if_idle()

    def _start_loop(self) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="tars_jax browsers", daemon=True)
            self._thread.start()

    def _stop_loop_if_idle(self) -> None:
        if self._users or self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None


_background = Background()


def background() -> Background:
    """Returns this process's background event loop."""
    return _background


def _start_anew_after_fork() -> None:
    """A forked child has neither the thread nor the browsers' pipes: it starts with none."""
    global _background
    _background = Background()


os.register_at_fork(after_in_child=_start_anew_after_fork)
