"""A manager's leases from elsewhere: the `Leases` of a process with no other right than its key."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import urllib.parse
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import FAILURES, QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.leases.lease import Lease, LeaseEnded, LeaseHeld
from tars_jax.web.connections import Connections

PAUSE_S = 0.1  # between a call whose answer was lost and the same once more
ANSWER_S = 30.0


class LeaseClient:
    """Use as an async context manager. A call whose answer was lost is made again, and counts once.

    Raises what the manager's own leases raise, and SandboxFailure("service") when no manager answers in `patience_s`.
    """

    def __init__(self, addresses: str | list[str], key: str, patience_s: float = 30.0) -> None:
        """`addresses`: http://HOST:PORT of a manager, or of several over one store, of which any serves."""
        given = [addresses] if isinstance(addresses, str) else addresses
        if not given:
            raise InputError("addresses must name a manager at least; got none")
        for address in given:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
                raise InputError(f"address must be http://HOST:PORT; got {address!r:.120}")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._connections = [Connections(address, headers) for address in given]
        self._patience_s = patience_s
        self._best = 0  # of the managers, the one that answered last

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connections in self._connections:
            await connections.__aexit__()

    async def claim(
        self, id: str, holder: str, seconds: float, *, place: str = "", once: str = "", data: str = ""
    ) -> Lease:
        """Without a word `once` the call makes one up, so that being asked again does not hold the lease against it."""
        words = {"place": place, "once": once or secrets.token_hex(8), "data": data}
        return Lease(**await self._post("claim", {"id": id, "holder": holder, "seconds": seconds, **words}))

    async def renew(self, id: str, fence: int, seconds: float | None = None, data: str | None = None) -> Lease:
        return Lease(**await self._post("renew", {"id": id, "fence": fence, "seconds": seconds, "data": data}))

    async def release(self, id: str, fence: int) -> bool:
        """False also where the answer to the same call was lost."""
        return bool((await self._post("release", {"id": id, "fence": fence}))["released"])

    async def look_up(self, id: str) -> Lease:
        return Lease(**await self.call("GET", f"/v1/leases/{urllib.parse.quote(id, safe='')}", id=id))

    async def list(self, prefix: str = "") -> list[Lease]:
        found = await self.call("GET", f"/v1/leases?prefix={urllib.parse.quote(prefix, safe='')}")
        return [Lease(**each) for each in found["leases"]]

    async def _post(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        return await self.call("POST", f"/v1/leases/{name}", values, id=values["id"])

    async def call(
        self, method: str, path: str, values: Any = None, *, id: str = "", answer_s: float = ANSWER_S,
        patience_s: float | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Any call of a manager that may be made twice, and its JSON. `patience_s`: other than the client's."""
        body = None if values is None else json.dumps(values).encode()
        until = time.monotonic() + (self._patience_s if patience_s is None else patience_s)
        while True:
            number = self._best % len(self._connections)
            try:
                async with asyncio.timeout(answer_s):
                    received = await self._connections[number].request(method, path, body)
                if received.status not in (502, 503, 504) or b"sandbox_failure" in received.body:
                    return _read(received.status, received.body, id)
                error: Exception = ConnectionError(f"status {received.status}")
            except (OSError, TimeoutError) as failed:
                error = failed
            self._best = number + 1
            if time.monotonic() > until:
                raise SandboxFailure("service", f"no manager answers: {error!r}") from error
            await asyncio.sleep(PAUSE_S)


def _read(status: int, body: bytes, id: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
        if status == 200:
            return value
        error = value["error"]
        message, param, code = str(error["message"]), error["param"], error["code"]
    except (ValueError, KeyError, TypeError) as failed:
        raise SandboxFailure("service", f"the manager answered {status} {body[:120]!r}") from failed
    if code == "held":
        raise LeaseHeld(id, float(param))
    if code == "ended":
        raise LeaseEnded(id, str(param))
    if code == "busy":
        raise QuotaExceeded(message, own=False)
    if code == "sandbox_failure":
        raise SandboxFailure(param if param in FAILURES else "service", message.partition(": ")[2] or message)
    if status in (400, 401, 404, 405, 413, 415):
        raise InputError(message)
    raise SandboxFailure("service", message)
