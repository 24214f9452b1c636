"""Nodes of a manager, for its operator: which there are, and one that is to end when its sessions have."""

from __future__ import annotations

from typing import Any, Self

from tars_jax.sandbox.service.leases import LeaseClient


class Nodes:
    """Use as an async context manager. Sessions of nodes: `ComputerClient` with the manager's address."""

    def __init__(self, managers: str | list[str], key: str, patience_s: float = 30.0) -> None:
        """`managers`: http://HOST:PORT of one, or of several over one store."""
        self.manager = LeaseClient(managers, key, patience_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.manager.__aexit__()

    async def list(self) -> list[dict[str, Any]]:
        """Those that live: id, name, address, capacity, free, ready, kinds, draining."""
        return list((await self.manager.call("GET", "/v1/nodes"))["nodes"])

    async def drain(self, node: str) -> None:
        """It takes no more claims, keeps nothing ready, and ends when its last session has. Twice is once."""
        await self.manager.call("POST", f"/v1/nodes/{node}/drain", {}, id=node)
