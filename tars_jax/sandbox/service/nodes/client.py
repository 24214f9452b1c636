"""Sandboxes of many machines, for whoever has the key: claimed from a manager, used on the node that has them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
from collections.abc import Sequence
from typing import Any, Self

from tars_jax.sandbox.computer.guest_client import Ran
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.leases import LeaseClient, LeaseEnded


class ClaimedSandbox:
    """One that was claimed. It lives until `release`, or until nobody has renewed it for its seconds."""

    def __init__(self, sandboxes: Sandboxes, values: dict[str, Any]) -> None:
        self._sandboxes = sandboxes
        self.id, self.fence, self.place = values["id"], values["fence"], values["place"]
        self.seconds, self.address = values["seconds"], values["address"]

    async def run(self, argv: Sequence[str], stdin: bytes = b"", timeout_s: float = 60.0) -> Ran:
        """A program in it. Raises SessionEnded when its time is over, InputError for a program that cannot be started,
        SandboxFailure when it is gone: "node" where its whole node is.
        """
        values = {
            "fence": self.fence, "argv": list(argv), "stdin": base64.b64encode(stdin).decode(), "timeout_s": timeout_s,
        }  # fmt: skip
        link = self._sandboxes.link(self.address)
        try:
            done = await link.call("POST", f"/v1/sessions/{self.id}/run", values, id=self.id, answer_s=timeout_s + 30)
        except LeaseEnded as ended:
            raise SessionEnded(self.id) from ended
        except SandboxFailure as failure:
            if failure.kind != "service":
                raise
            raise SandboxFailure("node", f"{self.place} did not answer: {failure}") from failure
        stdout, stderr = (base64.b64decode(done[name]) for name in ("stdout", "stderr"))
        return Ran(done["status"], stdout, stderr, timed_out=done["timed_out"])

    async def renew(self, seconds: float | None = None) -> None:
        """Raises SessionEnded; SandboxFailure("node") where its node has died."""
        await self._call("renew", {"fence": self.fence, "seconds": seconds})

    async def release(self) -> bool:
        """Whether it was held until now. Twice is once."""
        return bool((await self._call("release", {"fence": self.fence}))["released"])

    async def _call(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._sandboxes.manager.call("POST", f"/v1/sandboxes/{self.id}/{name}", values, id=self.id)
        except LeaseEnded as ended:
            raise SessionEnded(self.id) from ended

    async def __aenter__(self) -> Self:
        """Renews it until the block is left, and releases it then."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(self.seconds / 3)
                with contextlib.suppress(SandboxFailure):  # `run` says what has gone
                    await self.renew()

        self._renewing = asyncio.create_task(renew())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._renewing.cancel()
        await asyncio.gather(self._renewing, return_exceptions=True)
        with contextlib.suppress(SandboxFailure, SessionEnded):
            await self.release()


class Sandboxes:
    """Use as an async context manager."""

    def __init__(self, managers: str | list[str], key: str, holder: str = "", patience_s: float = 30.0) -> None:
        """`managers`: http://HOST:PORT of one, or of several over one store. `holder`: who claims; None: a new name."""
        self.manager, self._key = LeaseClient(managers, key, patience_s), key
        self._holder = holder or f"client-{secrets.token_hex(6)}"
        self._links: dict[str, LeaseClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.manager.__aexit__()
        for link in self._links.values():
            await link.__aexit__()

    async def claim(self, spec: str = "default", *, seconds: float = 60.0, deadline_s: float = 60.0) -> ClaimedSandbox:
        """Raises QuotaExceeded when no node had a place within the deadline, SandboxFailure when none opened one."""
        values = {
            "spec": spec, "holder": self._holder, "seconds": seconds, "deadline_s": deadline_s,
            "once": secrets.token_hex(8),
        }  # fmt: skip
        return ClaimedSandbox(self, await self.manager.call("POST", "/v1/sandboxes", values, answer_s=deadline_s + 60))

    async def find(self, id: str) -> ClaimedSandbox:
        """One that was claimed before. Raises SessionEnded; SandboxFailure("node") where its node has died."""
        try:
            return ClaimedSandbox(self, await self.manager.call("GET", f"/v1/sandboxes/{id}", id=id))
        except LeaseEnded as ended:
            raise SessionEnded(id) from ended

    async def nodes(self) -> list[dict[str, Any]]:
        return list((await self.manager.call("GET", "/v1/nodes"))["nodes"])

    async def drain(self, node: str) -> None:
        await self.manager.call("POST", f"/v1/nodes/{node}/drain", {}, id=node)

    def link(self, address: str) -> LeaseClient:
        if address not in self._links:
            self._links[address] = LeaseClient(address, self._key, patience_s=0.0)
        return self._links[address]
