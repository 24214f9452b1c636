"""The process of Playwright's driver, through which browsers are launched and pages opened."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Playwright, PlaywrightContextManager, async_playwright

from tars_jax.sandbox.browser.processes import SandboxRun, activity, is_alive
from tars_jax.sandbox.failures import SandboxFailure

LONGEST_START_S = 120.0  # a fresh process of Node.js that reads its code: long on a busy machine, and nothing to mend

WORKING = ("R", "D")  # states of a process that runs, or reads from a disk


class Driver:
    """A running driver; `lost` is called with it when its process ends by itself."""

    def __init__(self, playwright: Playwright, pid: int, lost: Callable[[Driver], None]) -> None:
        self.playwright = playwright
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)
        asyncio.get_running_loop().add_reader(self._pidfd, lost, self)

    @property
    def is_alive(self) -> bool:
        return is_alive(self.pid)

    async def answers(self, timeout_s: float) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                await (await self.playwright.request.new_context()).dispose()
        except (PlaywrightError, ConnectionError, TimeoutError):
            return False
        return True

    async def is_stuck(self, timeout_s: float) -> bool:
        """Whether it does not answer and does nothing for it either: one that works is slow, as its machine may be."""
        _, before = activity(self.pid)
        if await self.answers(timeout_s):
            return False
        state, ticks = activity(self.pid)
        return ticks == before and state not in WORKING

    async def stop(self, timeout_s: float) -> None:
        """Asks it to end; what does not is left to the end of the run."""
        self._unwatch()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.playwright.stop(), timeout_s)

    def kill(self) -> None:
        self._unwatch()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _unwatch(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)


async def start_driver(run: SandboxRun, lost: Callable[[Driver], None]) -> Driver:
    """Starts a driver as a process of `run`. Raises SandboxFailure("driver") when none comes up."""
    context = async_playwright()
    async with run.environment():
        try:
            playwright = await asyncio.wait_for(context.start(), LONGEST_START_S)
        except Exception as error:  # Playwright raises a bare one where the process is killed as it starts
            if (pid := run.child()) is not None:
                os.kill(pid, signal.SIGKILL)
            raise SandboxFailure("driver", f"it did not start: {error}") from error
    _hear_of_the_end(context)
    pid = run.child()
    try:
        if pid is not None:
            return Driver(playwright, pid, lost)
    except ProcessLookupError:
        pass
    raise SandboxFailure("driver", "it ended as it started")


def _hear_of_the_end(context: PlaywrightContextManager) -> None:
    """Reads the future in which Playwright leaves that its driver ended: asyncio complains where nobody does."""
    with contextlib.suppress(AttributeError):  # a later Playwright may have no such future
        ended: asyncio.Future[None] = context._client._transport.on_error_future  # type: ignore[union-attr]
        ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
