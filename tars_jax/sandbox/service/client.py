"""The client's side of the service, for sessions of any kind: requests that outlive a restart, leases that are kept."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
import time
from types import TracebackType
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import Broken, PageError, QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.errors import BROKEN, BUSY, ENDED, FAILURE, FULL, HELD, PAGE_ERROR, QUOTA
from tars_jax.web.connections import Connections
from tars_jax.web.protocol import INTERNAL_ERROR, to_json

log = logging.getLogger(__name__)
START_S = 15.0  # in which a service answers that is there as the client starts
UNKNOWN = 401  # whoever asks
PAUSE_S = 0.2  # between two attempts to reach the service
FULL_PAUSE_S = 2.0  # between two attempts where its disk is full: each may go a page's whole way again


class ServiceClient:
    """An async context manager.

    A service that is out of reach (it is started again, for instance) or whose disk is full is asked again for
    `patience_s`. While the client lives it renews the leases of its sessions, however long the policy thinks; when it
    dies, the service collects them.

    Args:
        address: of the service, http://HOST:PORT.
        key: an owner's.
        lease_s: how long a session outlives a client that has died.
        person_s: how long a call waits for a person who has taken the session over; SandboxFailure("person") then.
    """

    def __init__(
        self, address: str, key: str, *, lease_s: float = 120.0, patience_s: float = 60.0,
        call_timeout_s: float = 120.0, person_s: float = math.inf,
    ) -> None:  # fmt: skip
        self.address, self.lease_s, self.patience_s = address.rstrip("/"), lease_s, patience_s
        self._person_s = person_s
        self._connections = Connections(address, {"Authorization": f"Bearer {key}"})
        self._call_timeout_s = call_timeout_s
        self._leased: set[str] = set()  # ids of sessions
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Raises InputError where no service answers at the address, or does not know the key."""
        try:
            await self.request("GET", "/v1/stats", within_s=START_S)
        except SandboxFailure as failure:
            why = str(failure).partition(": ")[2]
            raise InputError(
                f"sandbox.address must be of a sandbox service that answers; got {self.address}: {why}"
            ) from failure
        self._renewing = asyncio.create_task(self._renew())

    async def close(self) -> None:
        """Releases the sessions. Idempotent."""
        if self._renewing is not None:
            self._renewing.cancel()
        with contextlib.suppress(SandboxFailure):
            await asyncio.gather(*(self.release(id) for id in list(self._leased)))
        await self._connections.__aexit__()

    async def release(self, id: str) -> None:
        """Ends a session. Harmless for one that has ended."""
        self.forget(id)
        with contextlib.suppress(SessionEnded):
            await self.request("DELETE", f"/v1/sessions/{id}")

    def keep(self, id: str) -> None:
        """The lease of this session is renewed from now on."""
        self._leased.add(id)

    def forget(self, id: str) -> None:
        self._leased.discard(id)

    async def request(
        self, method: str, path: str, body: Any = None, *, asked_s: float = 0.0, within_s: float = math.inf
    ) -> Any:
        """The JSON of a response, which may take `asked_s` longer than others.

        `within_s`: for one that comes at once or not at all, whatever the client's patience. Raises what the service
        says; SandboxFailure("service") when it is out of reach.
        """
        received = await self.fetch(method, path, body, asked_s=asked_s, within_s=within_s)
        try:
            return json.loads(received) if received else None
        except ValueError:
            raise SandboxFailure("service", f"{method} {path} was answered with something else than JSON") from None

    async def fetch(
        self, method: str, path: str, body: Any = None, *, asked_s: float = 0.0, within_s: float = math.inf
    ) -> bytes:
        """As `request`, the body as it is."""
        sent = None if body is None else to_json(body)
        patience_s, timeout_s = (min(each, within_s) for each in (self.patience_s, self._call_timeout_s + asked_s))
        until, given_up = time.monotonic() + patience_s + asked_s, time.monotonic() + self._person_s
        for attempt in itertools.count():
            try:
                async with asyncio.timeout(timeout_s):
                    received = await self._connections.request(method, path, sent)
            except OSError as error:  # a timeout among them
                if time.monotonic() > until:
                    raise SandboxFailure("service", f"{type(error).__name__} {error}") from error
                await asyncio.sleep(PAUSE_S)
                continue
            if received.status < 400:
                return received.body
            try:
                refusal = json.loads(received.body)["error"]
                code, message, _ = (refusal[name] for name in ("code", "message", "param"))
            except (ValueError, LookupError, TypeError):  # not the service's words: something that stands between
                raise SandboxFailure("service", f"{method} {path} was answered {received.status}") from None
            if received.status == UNKNOWN:
                raise InputError(
                    f"sandbox.key_file must be a file with a key that {self.address} knows; sandbox service: {message}"
                )
            if received.status == FULL and time.monotonic() < until:  # nothing was done; there may be room in a moment
                await asyncio.sleep(FULL_PAUSE_S)
                continue
            if code == HELD and time.monotonic() > given_up:
                raise SandboxFailure("person", f"a person has held the session for {self._person_s:g} s")
            if code in (BUSY, HELD):  # another page's end, or a person's hand: as long as it takes
                await asyncio.sleep(PAUSE_S)
                until = time.monotonic() + self.patience_s + asked_s
                continue
            if method == "DELETE" and attempt and code == ENDED:
                return b""
            raise _raised(refusal, path)
        raise AssertionError("the loop returns or raises")

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease_s / 3)
            for id in list(self._leased):
                try:
                    if id in self._leased:
                        await self.request("POST", f"/v1/sessions/{id}/renew", {})
                except (SandboxFailure, SessionEnded, InputError) as error:  # its next call meets it, too
                    if id in self._leased:  # else it was released meanwhile
                        log.warning("session %s: %s", id, error)


def _raised(error: dict[str, Any], path: str) -> Exception:
    """What was raised on the other side."""
    code, message = error["code"], error["message"]
    if code == PAGE_ERROR:
        return PageError(message)
    if code == FAILURE:
        return SandboxFailure(error["param"], message.partition(": ")[2])
    if code == ENDED:
        return SessionEnded(path.split("/")[3])
    if code == QUOTA:
        return QuotaExceeded(message, own=True)
    if code == BROKEN:
        return Broken(message)
    if code == INTERNAL_ERROR:
        return SandboxFailure("service", message)
    return InputError(f"sandbox service: {message}")
