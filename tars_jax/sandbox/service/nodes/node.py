"""A node: sessions of the sandbox service of one machine, each bound to a claim's lease while both live.

    manager --bind(claim, fence, spec, owner)--> node: a ready session, or a new one, given to that owner
    node --heartbeat(places, claims, those over)--> manager --> which claims have ended, and whether it is to drain

The node holds a lease itself, which heartbeats renew: where they stay away, the manager counts it as dead. It ends what
it holds when it hears that, or when no manager has answered for `orphan_s`. How long a session lives its service says.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import logging
import secrets
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases import LeaseClient, LeaseEnded
from tars_jax.sandbox.service.leases.lease import require_id
from tars_jax.sandbox.service.nodes.pools import Pools
from tars_jax.sandbox.service.nodes.sandboxes import Spec
from tars_jax.sandbox.service.nodes.sessions import ServiceOpener, ServiceSession

log = logging.getLogger(__name__)
JOIN_S = 60.0  # for a manager that starts after its nodes
REMEMBERED = 10_000  # claims that ended, so that a call that comes late does not begin them again


@dataclasses.dataclass(frozen=True)
class NodeConfig:
    """Raises InputError for values that cannot be."""

    name: str
    capacity: int  # sessions at once, those that are ready included
    warm: dict[Spec, int] = dataclasses.field(default_factory=dict)  # how many of each spec to keep ready
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


@dataclasses.dataclass(frozen=True)
class Given:
    """A session of a claim."""

    session: ServiceSession
    token: str

    def to_json(self) -> dict[str, Any]:
        return {**self.session.to_json(), "token": self.token}


@dataclasses.dataclass(eq=False)
class _Claim:
    fence: int
    opening: asyncio.Future[Given]

    @property
    def given(self) -> Given | None:
        done = self.opening.done() and not self.opening.cancelled() and self.opening.exception() is None
        return self.opening.result() if done else None


class Node:
    """Use as an async context manager; then `join`."""

    def __init__(self, config: NodeConfig, opener: ServiceOpener) -> None:
        self.config, self._opener = config, opener
        self.pools = Pools(opener, config.warm, config.capacity)
        self._claims: dict[str, _Claim] = {}
        self._over: dict[str, int] = {}  # claims whose sessions have ended by themselves, until a manager knows
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
            "ready": {spec.key: count for spec, count in self.pools.ready().items()}, "kinds": self._opener.kinds,
        }  # fmt: skip

    def claims(self) -> dict[str, int]:
        """Their fences."""
        return {id: claim.fence for id, claim in self._claims.items()}

    async def bind(self, id: str, fence: int, spec: Spec, owner: str, seconds: float, deadline_s: float) -> Given:
        """Gives the claim a session. Once more is once.

        Raises LeaseEnded where the claim has ended here, or has a greater fence; as `Pools.take` does.
        """
        claim = self._claims.get(id)
        if fence <= self._ended.get(id, -1) or (claim is not None and claim.fence > fence):
            raise LeaseEnded(id, "it has ended on this node")
        if claim is not None and claim.fence < fence:
            self.end(id, claim.fence)
            claim = None
        if claim is None:
            opening = asyncio.create_task(self._open_for(spec, owner, seconds, deadline_s))
            claim = self._claims[id] = _Claim(fence, opening)
        try:
            return await asyncio.shield(claim.opening)
        except asyncio.CancelledError:
            if not claim.opening.cancelled():
                raise  # whoever asked has left; the next one who asks gets it, or the lease's end ends it
            raise LeaseEnded(id, "it has ended on this node") from None
        except BaseException:
            if self._claims.get(id) is claim:
                del self._claims[id]
            raise

    async def _open_for(self, spec: Spec, owner: str, seconds: float, deadline_s: float) -> Given:
        sandbox = await self.pools.take(spec, deadline_s)
        assert isinstance(sandbox, ServiceSession)
        try:
            return Given(sandbox, sandbox.give(owner, seconds))
        except BaseException:
            self._spawn_end(sandbox)
            raise

    def adopt(self, claims: Sequence[tuple[str, int]], opened: Sequence[tuple[str, str]]) -> None:
        """Binds claims to sessions (id, token) that the service has opened, in places that were taken for them."""
        for (id, fence), (session, token) in zip(claims, opened, strict=True):
            done: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
            done.set_result(Given(self._opener.find(session), token))
            self._claims[id] = _Claim(fence, done)

    def serves(self, id: str, fence: int, session: str) -> bool:
        """Whether the session is that of the claim, which has not ended here."""
        claim = self._claims.get(id)
        given = None if claim is None or claim.fence != fence else claim.given
        return given is not None and given.session.id == session

    def end(self, id: str, fence: int) -> bool:
        """Whether it was here. Its session is closed behind this call."""
        if fence > self._ended.get(id, -1):
            self._ended[id] = fence
            self._ended.move_to_end(id)
            while len(self._ended) > REMEMBERED:
                self._ended.popitem(last=False)
        claim = self._claims.get(id)
        if claim is None or claim.fence > fence:
            return False
        del self._claims[id]
        self._spawn(self._end(claim))
        return True

    async def _end(self, claim: _Claim) -> None:
        if not claim.opening.done():
            claim.opening.cancel()
        try:
            given = await claim.opening
        except (asyncio.CancelledError, Exception):
            return  # it took no place, or gave it back
        await self.pools.end(given.session)

    def _spawn_end(self, session: ServiceSession) -> None:
        self._spawn(self.pools.end(session))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _end_all(self) -> None:
        for id, claim in list(self._claims.items()):
            self.end(id, claim.fence)

    def _sweep(self) -> None:
        """Claims whose sessions the service has ended."""
        for id, claim in list(self._claims.items()):
            if (given := claim.given) is not None and given.session.over:
                self.end(id, claim.fence)
                self._over[id] = claim.fence

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
            self._sweep()
            claims, over = self.claims(), dict(self._over)
            values = {"id": self.id, "fence": fence, "status": self.status(), "claims": claims, "over": over}
            try:
                answer = await manager.call("POST", "/v1/nodes/heartbeat", values, id=self.id)
            except LeaseEnded as ended:
                log.warning("node %s was counted as dead (%s): its sessions end, and it joins anew", self.id, ended.why)
                self._end_all()
                self._over.clear()
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
            for id in over:
                del self._over[id]
            for id in answer["ended"]:
                if id in claims:
                    self.end(id, claims[id])
            if answer["draining"]:
                await self._drain()

    async def _drain(self) -> None:
        if not self.draining:
            self.draining = True
            await self.pools.drain()
        if not self._claims and not self._ending:
            self.drained.set()
