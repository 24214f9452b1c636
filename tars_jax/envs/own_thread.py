"""Threads for one thing that blocks, which may be left to themselves when it never comes back."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Any

Outcome = tuple[Any, BaseException | None]  # what a call gave, or what it raised
_LEAVING_S = 1.0  # for tasks that a loop ends with


class OwnThread:
    """Runs calls one after another in the same thread: windows, databases and graphics contexts belong to theirs.

    A call that hangs holds up nobody but those behind it, and does not keep the process from ending.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], concurrent.futures.Future[Outcome]] | None]
        self._calls = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, call: Callable[[], Any]) -> concurrent.futures.Future[Outcome]:
        """Runs a call in the thread. Its future never raises: a StopIteration, for one, would not get through an
        asyncio future."""
        future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()
        self._calls.put((call, future))
        return future

    def end(self) -> None:
        """Ends the thread when what was submitted is done. Nobody waits for it."""
        self._calls.put(None)

    def _run(self) -> None:
        while (work := self._calls.get()) is not None:
            call, future = work
            if future.set_running_or_notify_cancel():
                future.set_result(_outcome(call))
            del work, call, future  # while the thread waits, it keeps nothing alive


class OwnLoop:
    """Runs coroutines on an event loop in a thread of its own: one that blocks it holds up nobody else.

    Tasks that a call leaves behind go on between the calls.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[concurrent.futures.Future[Outcome], asyncio.Task[Outcome]] = {}
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, call: Callable[[], Awaitable[Any]]) -> concurrent.futures.Future[Outcome]:
        """Runs a coroutine in the loop. Its future never raises, and is done when the coroutine is, also after a
        `cancel`."""
        future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()  # whoever stops waiting for it does not cancel it
        self._loop.call_soon_threadsafe(self._begin, call, future)
        return future

    def cancel(self, future: concurrent.futures.Future[Outcome]) -> None:
        """Asks what was submitted to end. Nobody waits for it."""

        def ask() -> None:
            if task := self._tasks.get(future):
                task.cancel()

        self._loop.call_soon_threadsafe(ask)

    def end(self) -> None:
        """Ends the thread when what was submitted is done. Nobody waits for it."""
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._stop()))

    def _begin(self, call: Callable[[], Awaitable[Any]], future: concurrent.futures.Future[Outcome]) -> None:
        task = self._loop.create_task(awaited(call))
        self._tasks[future] = task
        task.add_done_callback(functools.partial(self._done, future))

    def _done(self, future: concurrent.futures.Future[Outcome], task: asyncio.Task[Outcome]) -> None:
        del self._tasks[future]
        future.set_result((None, asyncio.CancelledError()) if task.cancelled() else task.result())

    async def _stop(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks.values())
        self._loop.stop()

    def _run(self) -> None:
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left, timeout=_LEAVING_S))
        self._loop.close()


async def awaited(call: Callable[[], Awaitable[Any]]) -> Outcome:
    """Outcome of a coroutine, a value or an error; raises CancelledError where its task was cancelled."""
    try:
        return await call(), None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None, error
    except (Exception, SystemExit) as error:
        return None, error


def _outcome(call: Callable[[], Any]) -> Outcome:
    try:
        return call(), None
    except BaseException as error:  # of a thread of its own: an exit there is none of the process
        return None, error
