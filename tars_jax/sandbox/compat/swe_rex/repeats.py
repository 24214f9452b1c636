"""Requests that come twice, as a client repeats one whose answer it did not get, are done once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.responses import Response

MOST_KEPT, MOST_BYTES = 256, 32 << 20  # answers, and what they hold together


class Repeats:
    def __init__(self) -> None:
        self._answers: OrderedDict[str, asyncio.Task[Response]] = OrderedDict()

    async def once(self, key: str, work: Callable[[], Awaitable[Response]]) -> Response:
        """The answer of the first request with this key, which may still be at work."""
        if (begun := self._answers.get(key)) is None:
            begun = self._answers[key] = asyncio.ensure_future(work())
            begun.add_done_callback(lambda done: self._forget())
        return await asyncio.shield(begun)

    def _forget(self) -> None:
        done = [key for key, task in self._answers.items() if task.done()]
        held = sum(len(self._body(key)) for key in done)
        for key in done:
            if len(self._answers) <= MOST_KEPT and held <= MOST_BYTES:
                return
            held -= len(self._body(key))
            del self._answers[key]

    def _body(self, key: str) -> bytes:
        task = self._answers[key]
        return b"" if task.cancelled() or task.exception() else bytes(task.result().body)
