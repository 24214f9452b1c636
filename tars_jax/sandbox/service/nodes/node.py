"""A node: the sandbox service of one machine, with places for sessions, some of which are ready before anybody asks.

    node --heartbeat(id, address)--> manager, every manager that it knows
    manager --POST /v1/sessions--> node: a ready session, or a new one, given to that owner

Its sessions' leases expire here, as on one machine. Where heartbeats stay away managers count the node as dead; where
they come again it is there again, with the sessions that it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import re
import secrets
from collections.abc import Sequence
from typing import Self

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.api.openings import Openings
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.service.nodes.placement import NodeStatus
from tars_jax.sandbox.service.nodes.pools import Pools
from tars_jax.sandbox.service.nodes.sandboxes import Spec
from tars_jax.sandbox.service.nodes.sessions import ServiceOpener, ServiceSession
from tars_jax.sandbox.sessions.leased_session import LeasedSession
from tars_jax.sandbox.sessions.registry import NODE_ID, AllSessions
from tars_jax.web.client import read_refusal
from tars_jax.web.connections import Connections

log = logging.getLogger(__name__)
JOIN_S = 60.0  # for a manager that starts after its nodes
PLACE_S = 1.0  # that an opening waits for a place; other nodes may have one
SWEEP_S = 0.2  # between two looks which sessions have ended


@dataclasses.dataclass(frozen=True)
class NodeConfig:
    """Raises InputError for values that cannot be."""

    name: str
    capacity: int  # sessions at once, those that are ready included
    warm: dict[Spec, int] = dataclasses.field(default_factory=dict)  # how many of each spec to keep ready
    dead_s: float = 10.0  # without a heartbeat, and managers count the node as dead
    heartbeat_s: float = 1.0
    incarnation: str = dataclasses.field(default_factory=lambda: secrets.token_hex(4))  # another one at each start

    def __post_init__(self) -> None:
        if not re.fullmatch(NODE_ID, self.id) or not 0 < 3 * self.heartbeat_s <= self.dead_s:
            raise InputError(
                "a node must have a name of at most 37 letters (lower case), digits and -, and 3 heartbeat_s <= "
                f"dead_s; got {self.name[:80]!r}, {self.heartbeat_s:g}, {self.dead_s:g}"
            )

    @property
    def id(self) -> str:
        """The id with which its sessions' ids begin."""
        return f"{self.name}-{self.incarnation}"


class Node:
    """Use as an async context manager; then `join`."""

    def __init__(self, config: NodeConfig, kinds: Sequence[Kind]) -> None:
        self.config, self.id = config, config.id
        self._sessions = AllSessions([kind.sessions for kind in kinds])
        self.openings = Openings(self._sessions)
        self._opener = ServiceOpener(kinds)
        self.pools = Pools(self._opener, config.warm, config.capacity)
        self._given: dict[str, ServiceSession] = {}  # by id
        self._tasks: set[asyncio.Task[None]] = set()
        self.draining, self.drained = False, asyncio.Event()  # `drained`: and its last session has ended

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._opener)
            await stack.enter_async_context(self.pools)
            self._tasks.add(asyncio.create_task(self._sweep()))
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._open.aclose()

    def status(self, owner: str, key: str | None = None) -> NodeStatus:
        """`owner`: of whose sessions a manager wants to know; `key`: of which idempotency key alone."""
        if key is None:
            keys = self.openings.keys(owner)
            others = {session.id for session in self._sessions.all_of(owner)}.difference(keys.values())
        else:
            keys, others = dict.fromkeys([key] if self.openings.has(owner, key) else [], ""), set()
        return NodeStatus(
            self.id, self.config.name, self.config.capacity, self.pools.free,
            {spec.key: count for spec, count in self.pools.ready().items()}, self._opener.kinds, self.draining,
            list(keys), len(others),
        )  # fmt: skip

    def has_given(self, session: str) -> bool:
        """Whether the session is somebody's, and not one that is kept ready."""
        return session in self._given

    async def take(self, spec: Spec, owner: str, seconds: float) -> tuple[LeasedSession, str]:
        """A session that is the owner's now, and its token. Raises as `Pools.take` does."""
        if self.draining:
            raise QuotaExceeded(f"the node {self.id} drains", own=False)
        sandbox = await self.pools.take(spec, PLACE_S)
        assert isinstance(sandbox, ServiceSession)
        try:
            token = sandbox.give(owner, seconds)
        except BaseException:
            self._spawn_end(sandbox)
            raise
        self._given[sandbox.id] = sandbox
        return sandbox.session, token

    def adopt(self, ids: Sequence[str]) -> None:
        """Sessions that the service has opened by itself, forks, in places that were taken for them."""
        self._given |= {id: self._opener.find(id) for id in ids}

    async def drain(self) -> None:
        """Drains the node: nothing is opened or kept ready any more. Twice is once."""
        self.draining = True
        await self.pools.drain()

    async def _sweep(self) -> None:
        """Gives back the places of sessions that have ended."""
        while True:
            await asyncio.sleep(SWEEP_S)
            for id in [id for id, session in self._given.items() if session.over]:
                self._spawn_end(self._given.pop(id))
            if self.draining and not self._given and not self.pools.used:
                self.drained.set()

    def _spawn_end(self, session: ServiceSession) -> None:
        task = asyncio.create_task(self.pools.end(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def join(self, managers: Sequence[str], key: str, address: str) -> None:
        """Tells managers that it is reachable at `address`, from now on again and again.

        Raises InputError for a wrong key, SandboxFailure when no manager answers for JOIN_S.
        """
        joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for manager in managers:
            self._tasks.add(asyncio.create_task(self._beat(manager, key, address, joined)))
        try:
            async with asyncio.timeout(JOIN_S):
                await joined
        except TimeoutError:
            raise SandboxFailure("service", f"no manager answers at {', '.join(managers)}") from None

    async def _beat(self, manager: str, key: str, address: str, joined: asyncio.Future[None]) -> None:
        body = json.dumps({"id": self.id, "address": address, "seconds": self.config.dead_s}).encode()
        async with Connections(manager, {"Authorization": f"Bearer {key}"}) as connections:
            while True:
                with contextlib.suppress(OSError):  # a timeout among them: the next one comes soon
                    async with asyncio.timeout(self.config.dead_s / 3):
                        received = await connections.request("POST", "/v1/nodes", body)
                    if not joined.done():
                        _hear(joined, received.status, received.body)
                await asyncio.sleep(self.config.heartbeat_s)


def _hear(joined: asyncio.Future[None], status: int, body: bytes) -> None:
    if status == 200:
        joined.set_result(None)
    elif status in (400, 401, 403) and (refusal := read_refusal(body)) is not None:
        joined.set_exception(InputError(refusal.message))
