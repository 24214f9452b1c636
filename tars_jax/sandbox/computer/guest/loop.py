"""The loop: one thread that waits for descriptors, for moments, and for what other threads hand it.

asyncio would do, but importing it takes longer than all the rest of a computer's start.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import queue
import selectors
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

WORKERS = 8
LONGEST_S = 86_400.0  # of one wait: the kernel takes no more than 24 days
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Timer:
    def __init__(self, run: Callable[[], None]) -> None:
        self._run: Callable[[], None] | None = run

    def cancel(self) -> None:
        self._run = None

    @property
    def is_over(self) -> bool:
        return self._run is None

    def fire(self) -> None:
        if self._run is not None:
            self._run()


class Loop:
    def __init__(self, begin_worker: Callable[[], None]) -> None:
        """`begin_worker` runs in each thread that does work, before the first piece."""
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._most_timers = 1000
        self._count = itertools.count()
        self._handed: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._begin_worker = begin_worker
        self._workers = self._waiting = 0  # threads; pieces of work that are not done
        self._wake_read, self.wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.watch(self._wake_read, READ, self._woken)
        self.stopped = False
        self._hire()  # while there is one to be had

    def watch(self, descriptor: int, events: int, ready: Callable[[int], None]) -> None:
        """Calls `ready` with the events that happen; 0 ends it."""
        known = descriptor in self._selector.get_map()
        if not events:
            if known:
                self._selector.unregister(descriptor)
        elif known:
            self._selector.modify(descriptor, events, ready)
        else:
            self._selector.register(descriptor, events, ready)

    def later(self, seconds: float, run: Callable[[], None]) -> Timer:
        timer = Timer(run)
        if len(self._timers) > self._most_timers:  # mostly those of answers that came in time
            self._timers = [each for each in self._timers if not each[2].is_over]
            heapq.heapify(self._timers)
            self._most_timers = 2 * len(self._timers) + 1000
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._count), timer))
        return timer

    def hand(self, run: Callable[[], None]) -> None:
        """Hands a function from any thread to the loop's."""
        self._handed.put(run)
        with contextlib.suppress(BlockingIOError):  # it is full, so the loop wakes anyway
            os.write(self.wake_write, b"\0")

    def work(self, run: Callable[[], None]) -> None:
        """Calls it in a thread of its own: for what may wait for a disk."""
        self._waiting += 1
        if self._waiting > self._workers < WORKERS:
            with contextlib.suppress(RuntimeError):  # there may be no further thread: those that are there do it
                self._hire()
        self._work.put(run)

    def _hire(self) -> None:
        threading.Thread(target=self._labor, daemon=True).start()
        self._workers += 1

    def _labor(self) -> None:
        self._begin_worker()
        while True:
            run = self._work.get()
            self._guard(run)
            self.hand(self._done)

    def _done(self) -> None:
        self._waiting -= 1

    def _woken(self, _: int) -> None:
        try:
            while os.read(self._wake_read, 4096):
                pass
        except BlockingIOError:
            pass

    def run(self, each_time: Callable[[], None]) -> None:
        """Runs until `stopped`; `each_time` is called whenever something woke it."""
        while not self.stopped:
            timeout = min(max(0.0, self._timers[0][0] - time.monotonic()), LONGEST_S) if self._timers else None
            for key, events in self._selector.select(timeout):
                if key.fd in self._selector.get_map():  # a call before may have ended it
                    self._guard(key.data, events)
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                self._guard(heapq.heappop(self._timers)[2].fire)
            while not self._handed.empty():
                self._guard(self._handed.get())
            self._guard(each_time)

    @staticmethod
    def _guard(run: Callable[..., Any], *arguments: Any) -> None:
        """Nothing that one call does ends the others."""
        try:
            run(*arguments)
        except Exception:
            with contextlib.suppress(OSError):  # the disk may be full
                traceback.print_exc(file=sys.stderr)
