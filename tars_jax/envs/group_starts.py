"""Groups of episodes that begin alike: the first has a moment prepared and saved, and each opens its own from there."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from tars_jax.sandbox.failures import SandboxFailure

MOST_SAVED = 16  # moments whose groups have not all begun
T = TypeVar("T", covariant=True)


class PreparedStart(Protocol[T]):
    """A prepared start of episodes; it lasts until `remove`, and what was opened from it lives on."""

    async def open(self) -> T:
        """Opens a copy of the prepared start. Raises SandboxFailure."""
        ...

    async def remove(self) -> None:
        """Removes the prepared start; a second call does nothing."""
        ...


@dataclasses.dataclass(eq=False)
class _Group(Generic[T]):
    """A saved moment, and how many of its group are to come."""

    saved: asyncio.Task[PreparedStart[T]]
    left: int
    opening: int = 0


class GroupStarts(Generic[T]):
    def __init__(self) -> None:
        self._groups: OrderedDict[str, _Group[T]] = OrderedDict()
        self.prepared = 0  # moments

    async def open(self, key: str, size: int, prepare: Callable[[], Awaitable[PreparedStart[T]]]) -> T:
        """Opens the start that `prepare` has saved, once for `size` that ask with the same key. Raises its errors,
        too."""
        group = self._groups.get(key)
        if group is None or not group.left:
            group = self._groups[key] = _Group(asyncio.create_task(self._prepared(prepare)), size)
        group.left -= 1
        group.opening += 1
        try:
            await self._forget_some()
            return await (await asyncio.shield(group.saved)).open()
        except BaseException:
            group.left = 0  # a new one is prepared for the next
            raise
        finally:
            group.opening -= 1
            if not group.left and not group.opening:
                await self._forget(key, group)

    async def give_up_one(self) -> None:
        """The oldest moment that nobody opens just now; whoever asks for it next has another one prepared."""
        for key, group in self._groups.items():
            if not group.opening:
                group.left = 0
                await self._forget(key, group)
                return

    async def close(self) -> None:
        for key, group in list(self._groups.items()):
            with contextlib.suppress(Exception):
                await self._forget(key, group)

    async def _prepared(self, prepare: Callable[[], Awaitable[PreparedStart[T]]]) -> PreparedStart[T]:
        self.prepared += 1
        return await prepare()

    async def _forget_some(self) -> None:
        """The oldest of groups that were given up: more than are played at a time."""
        for key, group in list(self._groups.items())[: max(0, len(self._groups) - MOST_SAVED)]:
            group.left = 0
            if not group.opening:
                await self._forget(key, group)

    async def _forget(self, key: str, group: _Group[T]) -> None:
        if self._groups.get(key) is group:
            del self._groups[key]
        with contextlib.suppress(SandboxFailure):
            await (await asyncio.shield(group.saved)).remove()
