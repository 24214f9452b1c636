"""Sessions opened on nodes: placed, counted against quotas, tried elsewhere until one is there or the time is over."""

from __future__ import annotations

import asyncio
import collections
import logging
import time

from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.errors import BUSY, FAILURE
from tars_jax.sandbox.service.nodes.node_client import NodeClient
from tars_jax.sandbox.service.nodes.placement import NodeStatus, NoNode, Wanted, choose, require_quota
from tars_jax.web.client import read_refusal
from tars_jax.web.connections import Received

log = logging.getLogger(__name__)
POLL_S = 0.1  # while nothing is free
OPEN_S = 120.0  # for a node to open a session
NO_NODE_S = 10.0  # for a node that has the kind at all
AVOIDED_S = 1.0  # a node that did not answer, or could open nothing


class SessionScheduler:
    """The scheduler of one manager."""

    def __init__(self, client: NodeClient) -> None:
        self._client = client
        self._claiming: dict[str, set[str]] = collections.defaultdict(set)  # by owner: keys of openings under way
        self._asked: collections.Counter[str] = collections.Counter()  # by node: openings under way

    async def open(self, wanted: Wanted, body: bytes, quota: int | None, deadline_s: float) -> Received:
        """The answer of the node that opened it, or that says what is wrong with the request.

        Raises QuotaExceeded when the owner has as many as it may, or no node had a place within the deadline;
        SandboxFailure when none could open one.
        """
        claiming = self._claiming[wanted.owner]
        claiming.add(wanted.key)
        nodes: list[NodeStatus] = []
        try:
            if quota is not None:
                nodes = await self._client.statuses(wanted.owner)
                if not any(wanted.key in node.keys for node in nodes):
                    require_quota(wanted.owner, quota, nodes, claiming - {wanted.key})
            return await self._open(wanted, body, deadline_s, nodes)
        finally:
            claiming.discard(wanted.key)

    async def _open(self, wanted: Wanted, body: bytes, deadline_s: float, nodes: list[NodeStatus]) -> Received:
        """`nodes`: as they have just said; empty: they have not been asked."""
        began, last = time.monotonic(), None
        avoided: dict[str, float] = {}  # until when
        while True:
            now = time.monotonic()
            try:
                nodes = nodes or await self._client.statuses(wanted.owner, wanted.key)
                node = choose(wanted, nodes, self._asked, [id for id, until in avoided.items() if until > now])
                try:
                    return await self._open_at(node, wanted, body)
                except (QuotaExceeded, SandboxFailure) as error:
                    log.info("node %s gave no %s: %s", node, wanted.kind, error)
                    avoided[node], last = time.monotonic() + AVOIDED_S, error
            except QuotaExceeded as full:
                last = last if isinstance(last, SandboxFailure) and not isinstance(last, NoNode) else full
            except NoNode as none:
                last = none
            waited_s = time.monotonic() - began
            if waited_s >= deadline_s or (waited_s >= NO_NODE_S and isinstance(last, NoNode)):
                raise last
            nodes = []
            await asyncio.sleep(POLL_S)

    async def _open_at(self, node: str, wanted: Wanted, body: bytes) -> Received:
        """Raises QuotaExceeded, SandboxFailure: another node may be asked."""
        self._asked[node] += 1
        try:
            received = await self._client.ask(node, "POST", "/v1/sessions", wanted.owner, body, OPEN_S)
        finally:
            self._asked[node] -= 1
        if received.status < 400:
            return received
        refusal = read_refusal(received.body)
        if refusal is None:
            raise SandboxFailure("node", f"{node} answered {received.status}")
        if refusal.code == BUSY:
            raise QuotaExceeded(refusal.message, own=False)
        if refusal.code == FAILURE:
            raise SandboxFailure(refusal.param, f"{node}: {refusal.message.partition(': ')[2] or refusal.message}")
        return received

    async def require_quota(self, owner: str, quota: int | None, more: int) -> None:
        """Raises QuotaExceeded where so many more sessions are too many; `quota`: None for no end."""
        if quota is not None:
            require_quota(owner, quota, await self._client.statuses(owner), self._claiming[owner], more)
