"""A manager's own requests to its nodes, over kept connections; and an operator's to a manager about its nodes."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from typing import Any

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.client import ServiceClient
from tars_jax.sandbox.service.nodes.delegation import to_header
from tars_jax.sandbox.service.nodes.live_nodes import LiveNodes
from tars_jax.sandbox.service.nodes.placement import NodeStatus
from tars_jax.web.client import what_failed
from tars_jax.web.connections import Connections, Received

ASK_S = 60.0
STATUS_S = 5.0


class NodeClient:
    def __init__(self, nodes: LiveNodes, key: str) -> None:
        """`key`: of managers and nodes."""
        self._nodes, self._key = nodes, key
        self._connections: dict[str, Connections] = {}  # by address

    async def close(self) -> None:
        for connections in self._connections.values():
            await connections.__aexit__()

    async def ask(
        self, node: str, method: str, path: str, owner: str, body: bytes | None = None, within_s: float = ASK_S
    ) -> Received:
        """A request for an owner. Raises SandboxFailure("node") without an answer."""
        address = self._nodes.addresses().get(node)
        if address is None:
            raise SandboxFailure("node", f"{node} does not answer any more")
        if (connections := self._connections.get(address)) is None:
            connections = self._connections[address] = Connections(address, {})
        name, value = to_header(owner, self._key)
        try:
            async with asyncio.timeout(within_s):
                return await connections.request(method, path, body, {name.decode(): value.decode()})
        except OSError as error:  # a timeout among them
            raise SandboxFailure("node", f"{node} at {address} does not answer: {what_failed(error)}") from error

    async def ask_all(
        self, method: str, path: str, owner: str, within_s: float = ASK_S
    ) -> dict[str, tuple[int, Any]]:  # fmt: skip
        """Status and JSON of each node that answers, by its id."""

        async def one(node: str) -> tuple[int, Any]:
            received = await self.ask(node, method, path, owner, within_s=within_s)
            return received.status, json.loads(received.body) if received.body else None

        addresses = self._nodes.addresses()
        nodes = list(addresses)
        for gone in self._connections.keys() - addresses.values():
            await self._connections.pop(gone).__aexit__()
        answers = await asyncio.gather(*map(one, nodes), return_exceptions=True)
        return {node: each for node, each in zip(nodes, answers, strict=True) if isinstance(each, tuple)}

    async def statuses(self, owner: str, key: str | None = None) -> list[NodeStatus]:
        """Statuses of the nodes that answer; behind a manager's start, of those that live. `key`: of `owner`, None:
        all."""
        await self._nodes.settled()
        asked = urllib.parse.urlencode({"owner": owner, **({} if key is None else {"key": key})})
        told = await self.ask_all("GET", f"/v1/node?{asked}", owner, STATUS_S)
        return [NodeStatus(**value) for status, value in told.values() if status == 200]


class Nodes(ServiceClient):
    """An operator's client; the sessions of nodes are those of a `ComputerClient` at the same address."""

    async def list(self) -> list[dict[str, Any]]:
        """Lists the nodes that live: id, name, address, capacity, free, ready, kinds, draining."""
        return list((await self.request("GET", "/v1/nodes"))["nodes"])

    async def drain(self, node: str) -> None:
        """Drains a node: it takes no more sessions, keeps nothing ready, and ends when its last session has. Twice is
        once.

        Raises InputError for a node that does not live.
        """
        await self.request("POST", f"/v1/nodes/{node}/drain", {})
