"""Parts with which a computer is copied, suspended and adopted: shells, kernels, a desktop, MCP servers, ...

    detach, attach      around a copy of the programs: between the two nothing connects the host with the part
    snapshot, restore   what the host knows of the part, as JSON; the part again, in the same computer or a copy of it

`restore(machine, snapshot)` is a class method. It raises KeyError, TypeError, ValueError for what is no snapshot.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Protocol


class Detachable(Protocol):
    """A part's own connections into a computer, such as that with an X server."""

    async def detach(self) -> None:
        """Closes them. Raises InputError while one is used."""
        ...

    async def attach(self) -> None:
        """Makes them again, or leaves that to the part's next call. What fails may also be said by that call."""
        ...


class Part(Detachable, Protocol):
    def snapshot(self) -> Any:
        """Snapshot that `restore` takes; None: nothing. It may hold secrets."""
        ...


@contextlib.asynccontextmanager
async def detached(parts: Iterable[Detachable], stay: Callable[[], object] = lambda: False) -> AsyncIterator[None]:
    """Within the block nothing connects the host with the parts; afterwards they are attached, unless they `stay`."""
    done: list[Detachable] = []
    try:
        for part in parts:
            done.append(part)
            await part.detach()
        yield
    finally:
        if not stay():
            await attach_all(done)


async def attach_all(parts: Iterable[Detachable]) -> None:
    for part in parts:
        await part.attach()
