"""Nodes that live, and their addresses: those whose heartbeats come. A manager that was started again hears them
soon."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import Callable

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.sessions.registry import NODE_ID, SESSION_ID, node_of

SETTLE_S = 5.0  # behind a manager's start, in which all nodes that live are heard
POLL_S = 0.1


@dataclasses.dataclass(frozen=True)
class _Heard:
    address: str
    until: float  # it counts as dead from then on, unless it is heard again


class LiveNodes:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now`: seconds of a clock that nobody sets."""
        self._now, self._began = now, now()
        self._heard: dict[str, _Heard] = {}  # by the node's id, NAME-INCARNATION

    def heartbeat(self, id: str, address: str, seconds: float) -> None:
        """The node lives, for so many seconds at least. Raises InputError."""
        if not re.fullmatch(NODE_ID, id) or not address.startswith("http://"):
            raise InputError(f"a node must have an id NAME-INCARNATION and an address http://HOST:PORT; got {id!r:.80}")
        self._heard[id] = _Heard(address, self._now() + seconds)

    def addresses(self) -> dict[str, str]:
        """Addresses of live nodes, by id."""
        self._heard = {id: each for id, each in self._heard.items() if each.until > self._now()}
        return {id: each.address for id, each in self._heard.items()}

    async def settled(self) -> None:
        """Returns when each node that lives has been heard."""
        await asyncio.sleep(max(0.0, self._began + SETTLE_S - self._now()))

    async def address_of(self, session: str) -> str:
        """The address of the session's node.

        Raises SessionEnded for what is no session of a node, SandboxFailure("node") for one of a node that has died:
        a node that was started again is another one.
        """
        node = node_of(session)
        if not node or not re.fullmatch(SESSION_ID, session):
            raise SessionEnded(session)
        while (address := self.addresses().get(node)) is None:
            if self._now() > self._began + SETTLE_S:
                raise SandboxFailure("node", f"{node}, which had the session {session}, does not answer any more")
            await asyncio.sleep(POLL_S)
        return address
