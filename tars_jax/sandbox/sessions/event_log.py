"""The last events of one session, numbered, for whoever follows them."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import time
from collections.abc import AsyncGenerator
from typing import Any

KEPT = 1000


@dataclasses.dataclass(frozen=True)
class Event:
    number: int  # from 1 on; a gap means that older ones were forgotten
    time: float  # Unix seconds
    kind: str
    data: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class EventLog:
    """Keeps the last events; readers that come late or fall behind lose the oldest, and nobody is held up."""

    def __init__(self) -> None:
        self._events: collections.deque[Event] = collections.deque(maxlen=KEPT)
        self.last = 0  # number of the newest event
        self._closed = False
        self._news = asyncio.Event()

    def append(self, kind: str, data: dict[str, Any] | None = None) -> None:
        self.last += 1
        self._events.append(Event(self.last, time.time(), kind, data or {}))
        self._news.set()
        self._news = asyncio.Event()

    def close(self) -> None:
        """The last event, "ended"; followers end with it. Idempotent."""
        if not self._closed:
            self._closed = True
            self.append("ended")

    def after(self, number: int) -> list[Event]:
        """The kept events with a higher number."""
        return [event for event in self._events if event.number > number]

    async def follow(self, number: int = 0) -> AsyncGenerator[Event, None]:
        """Events with a higher number, those that are kept and then each as it comes, until the log is closed."""
        while True:
            news = self._news
            for event in self.after(number):
                number = event.number
                yield event
            if self._closed and not self.after(number):
                return
            await news.wait()
