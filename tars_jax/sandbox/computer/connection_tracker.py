"""Connections of host and guest: calls that are on their way, and links, which parts keep open into a computer.

A copy of its programs is made while there is nothing of either. Streams to its ports end with the copy.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tars_jax import InputError
from tars_jax.sandbox.computer.part import Detachable
from tars_jax.sandbox.failures import SandboxFailure

APART_S = 60.0  # that calls may take to end


class ConnectionTracker:
    def __init__(self) -> None:
        self.why_away = ""  # why nothing can be asked of the guest for now, where that is so
        self._links: dict[Detachable, None] = {}  # in the order in which they came
        self._detached: list[Detachable] = []
        self._calling = 0
        self._changed = asyncio.Condition()
        self._apart = asyncio.Lock()

    def add(self, link: Detachable) -> None:
        self._links[link] = None

    def remove(self, link: Detachable) -> None:
        """Removes a link, also a detached one. Twice is once."""
        self._links.pop(link, None)
        self._detached = [each for each in self._detached if each is not link]

    @contextlib.asynccontextmanager
    async def in_use(self, what: str) -> AsyncIterator[None]:
        """While a call is on its way; waits while a copy is made. Raises InputError where the guest is away."""
        async with self._apart:
            if self.why_away:
                raise InputError(f"{what} must wait: {self.why_away}")
            self._calling += 1
        try:
            yield
        finally:
            self._calling -= 1
            async with self._changed:
                self._changed.notify_all()

    @contextlib.asynccontextmanager
    async def quiesced(self) -> AsyncIterator[None]:
        """Within the block there are no calls and no links. Afterwards there are, if the guest is not away.

        Raises SandboxFailure where calls take too long.
        """
        async with self._apart:
            try:
                async with asyncio.timeout(APART_S), self._changed:
                    await self._changed.wait_for(lambda: not self._calling)
            except TimeoutError as error:
                raise SandboxFailure("timeout", "the calls of a session did not end, which a copy waits for") from error
            try:
                await self._leave()
                yield
            finally:
                if not self.why_away:
                    await asyncio.shield(self._attach_all())

    async def _leave(self) -> None:
        try:
            for link in list(self._links):
                try:
                    await link.detach()
                finally:
                    self._detached.append(link)
        except (OSError, TimeoutError) as error:
            why = f"what is open into a computer could not be closed: {error or type(error).__name__}"
            raise SandboxFailure("guest", why) from error

    async def come_back(self) -> None:
        """The guest is there again."""
        async with self._apart:
            self.why_away = ""
            await self._attach_all()

    async def _attach_all(self) -> None:
        links, self._detached = self._detached, []
        for link in links:
            with contextlib.suppress(SandboxFailure, InputError, OSError):  # it says so when it is used next
                await link.attach()


def connections_of(machine: object) -> ConnectionTracker:
    """Links of a machine; new ones where it is none that can be copied with its programs."""
    found = getattr(machine, "links", None)
    return found if isinstance(found, ConnectionTracker) else ConnectionTracker()


class Interrupted(ConnectionError):
    """A connection into a computer was ended, as its programs were copied or put aside. It may be made again."""


class InterruptibleStream:
    """A link whose reader says why it has ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def detach(self) -> None:
        if not self._writer.is_closing():
            self._reader.set_exception(Interrupted("the connection was ended for a live copy of its computer"))
            self._writer.transport.abort()

    async def attach(self) -> None:
        """Does nothing: whoever wants another stream opens one."""
