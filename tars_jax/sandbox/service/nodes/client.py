"""Nodes of a manager, for its operator: which there are, and one that is to end when its sessions have."""

from __future__ import annotations

from typing import Any

from tars_jax.sandbox.service.client import ServiceClient


class Nodes(ServiceClient):
    """With the operator's key; their sessions are those of a `ComputerClient` at the same address."""

    async def list(self) -> list[dict[str, Any]]:
        """Lists the nodes that live: id, name, address, capacity, free, ready, kinds, draining."""
        return list((await self.request("GET", "/v1/nodes"))["nodes"])

    async def drain(self, node: str) -> None:
        """It takes no more sessions, keeps nothing ready, and ends when its last session has. Twice is once.

        Raises InputError for a node that does not live.
        """
        await self.request("POST", f"/v1/nodes/{node}/drain", {})
