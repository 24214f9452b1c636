"""A node: sandboxes of one machine, each bound to a session's lease while that lives.

    manager --bind(session, fence, spec)--> node: a ready sandbox, or a new one
    node --heartbeat(places, sessions)--> manager --> which of its sessions have ended, and whether it is to drain

The node holds a lease itself, which heartbeats renew: where they stay away, the manager counts it as dead. It ends what
it holds when it hears that, or when no manager has answered for `orphan_s`.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import logging
import secrets
import time
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases import LeaseClient, LeaseEnded
from tars_jax.sandbox.service.leases.lease import require_id
from tars_jax.sandbox.service.nodes.pools import Pools
from tars_jax.sandbox.service.nodes.sandboxes import Opener, Sandbox

log = logging.getLogger(__name__)
JOIN_S = 60.0  # for a manager that starts after its nodes
REMEMBERED = 10_000  # sessions that ended, so that a call that comes late does not begin them again


@dataclasses.dataclass(frozen=True)
class NodeConfig:
    """Raises InputError for values that cannot be."""

    name: str
    capacity: int  # sandboxes at once, those that are ready included
    warm: dict[str, int] = dataclasses.field(default_factory=dict)  # how many of each spec to keep ready
    dead_s: float = 10.0  # without a heartbeat, and the manager counts the node as dead
    heartbeat_s: float = 1.0
    orphan_s: float = 60.0  # without an answer of a manager, and the node ends its sessions

    def __post_init__(self) -> None:
        require_id(self.name)
        if len(self.name) > 64 or not 0 < 3 * self.heartbeat_s <= self.dead_s <= self.orphan_s:
            raise InputError(
                "a node must have a name of at most 64 characters, and 3 heartbeat_s <= dead_s <= orphan_s; got "
                f"{self.name[:80]!r}, {self.heartbeat_s:g}, {self.dead_s:g}, {self.orphan_s:g}"
            )


@dataclasses.dataclass(eq=False)
class _Session:
    fence: int
    spec: str
    opening: asyncio.Task[Sandbox]


class Node:
    """Use as an async context manager; then `join`."""

    def __init__(self, config: NodeConfig, opener: Opener) -> None:
        self.config, self._opener = config, opener
        self.pools = Pools(opener, config.warm, config.capacity)
        self._sessions: dict[str, _Session] = {}
        self._ended: collections.OrderedDict[str, int] = collections.OrderedDict()
        self._ending: set[asyncio.Task[None]] = set()
        self._beating: asyncio.Task[None] | None = None
        self.id = ""  # of its lease; a new one each time it joins
        self.drained = asyncio.Event()  # it was told to drain, and its last session has ended
        self.draining = False

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._opener)
            await stack.enter_async_context(self.pools)
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        self._end_all()
        while self._ending:
            await asyncio.wait(self._ending)
        await self._open.aclose()

    def status(self) -> dict[str, Any]:
        """Of its lease's data, and of each answer, so that the manager knows its places."""
        return {
            "name": self.config.name, "capacity": self.config.capacity, "free": self.pools.free,
            "ready": self.pools.ready(), "specs": sorted(self._opener.specs),
        }  # fmt: skip

    def sessions(self) -> dict[str, int]:
        """Their fences."""
        return {id: session.fence for id, session in self._sessions.items()}

    async def bind(self, id: str, fence: int, spec: str, deadline_s: float) -> None:
        """Gives the session a sandbox. Once more is once.

        Raises LeaseEnded where the session has ended here, or has a greater fence; as `Pools.take` does.
        """
        session = self._sessions.get(id)
        if fence <= self._ended.get(id, -1) or (session is not None and session.fence > fence):
            raise LeaseEnded(id, "it has ended on this node")
        if session is not None and session.fence < fence:
            self.end(id, session.fence)
            session = None
        if session is None:
            opening = asyncio.create_task(self.pools.take(spec, deadline_s))
            session = self._sessions[id] = _Session(fence, spec, opening)
        try:
            await asyncio.shield(session.opening)
        except asyncio.CancelledError:
            if not session.opening.cancelled():
                raise  # whoever asked has left; the next one who asks gets it, or the lease's end ends it
            raise LeaseEnded(id, "it has ended on this node") from None
        except BaseException:
            if self._sessions.get(id) is session:
                del self._sessions[id]
            raise

    def end(self, id: str, fence: int) -> bool:
        """Whether it was here. Its sandbox is closed behind this call."""
        if fence > self._ended.get(id, -1):
            self._ended[id] = fence
            self._ended.move_to_end(id)
            while len(self._ended) > REMEMBERED:
                self._ended.popitem(last=False)
        session = self._sessions.get(id)
        if session is None or session.fence > fence:
            return False
        del self._sessions[id]
        task = asyncio.create_task(self._end(session))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return True

    async def sandbox(self, id: str, fence: int) -> Sandbox:
        """That of a session. Raises LeaseEnded, or SandboxFailure where it could not be opened."""
        session = self._sessions.get(id)
        if session is None or session.fence != fence:
            raise LeaseEnded(id, "this node has no such session, or with another fence")
        return await asyncio.shield(session.opening)

    async def _end(self, session: _Session) -> None:
        if not session.opening.done():
            session.opening.cancel()
        try:
            sandbox = await session.opening
        except (asyncio.CancelledError, Exception):
            return  # it took no place, or gave it back
        await self.pools.end(sandbox)

    def _end_all(self) -> None:
        for id, session in list(self._sessions.items()):
            self.end(id, session.fence)

    async def join(self, manager: LeaseClient, address: str) -> None:
        """Registers with a manager as reachable at `address`, and keeps that up.

        Raises InputError for a wrong key, SandboxFailure when no manager answers for JOIN_S.
        """
        fence = await self._register(manager, address, JOIN_S)
        self._beating = asyncio.create_task(self._beat(manager, address, fence))

    async def _register(self, manager: LeaseClient, address: str, patience_s: float | None = None) -> int:
        self.id = f"node.{self.config.name}.{secrets.token_hex(4)}"
        values = {"id": self.id, "address": address, "seconds": self.config.dead_s, "status": self.status()}
        return int((await manager.call("POST", "/v1/nodes", values, patience_s=patience_s))["fence"])

    async def _beat(self, manager: LeaseClient, address: str, fence: int) -> None:
        answered = time.monotonic()
        while True:
            await asyncio.sleep(self.config.heartbeat_s)
            sessions = self.sessions()
            values = {"id": self.id, "fence": fence, "status": self.status(), "sessions": sessions}
            try:
                answer = await manager.call("POST", "/v1/nodes/heartbeat", values, id=self.id)
            except LeaseEnded as ended:
                log.warning("node %s was counted as dead (%s): its sessions end, and it joins anew", self.id, ended.why)
                self._end_all()
                with contextlib.suppress(SandboxFailure):
                    fence = await self._register(manager, address)
                    answered = time.monotonic()
                continue
            except (SandboxFailure, InputError) as failure:
                if time.monotonic() - answered > self.config.orphan_s:
                    log.warning("no manager has answered for %g s: sessions end (%s)", self.config.orphan_s, failure)
                    self._end_all()
                continue
            answered = time.monotonic()
            for id in answer["ended"]:
                if id in sessions:
                    self.end(id, sessions[id])
            if answer["draining"]:
                await self._drain()

    async def _drain(self) -> None:
        if not self.draining:
            self.draining = True
            await self.pools.drain()
        if not self._sessions and not self._ending:
            self.drained.set()
