"""The client's side of the service, for sessions of any kind: requests that outlive a restart, leases that are kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import Broken, PageError, QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.errors import BROKEN, BUSY, ENDED, FAILURE, FULL, HELD, PAGE_ERROR, QUOTA
from tars_jax.web.client import Refusal, TryAgain, read_refusal, retrying, what_failed
from tars_jax.web.connections import Connections, NotConnected
from tars_jax.web.protocol import INTERNAL_ERROR, to_json

log = logging.getLogger(__name__)
START_S = 15.0  # in which a service answers that is there as the client starts
UNKNOWN = 401  # whoever asks
PAUSE_S = 0.2  # between two attempts to reach the service
RENEWED_AT_ONCE = 1000
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
        self, method: str, path: str, body: Any = None, *, asked_s: float = 0.0, within_s: float = math.inf,
        repeatable: bool = True,
    ) -> Any:  # fmt: skip
        """The JSON of a response, which may take `asked_s` longer than others.

        `within_s`: for one that comes at once or not at all, whatever the client's patience. `repeatable`: doing it
        twice is doing it once, as of all that sets a state or has an `idempotency_key`. Raises what the service says;
        SandboxFailure("service") when it is out of reach.
        """
        received = await self.fetch(method, path, body, asked_s=asked_s, within_s=within_s, repeatable=repeatable)
        try:
            return json.loads(received) if received else None
        except ValueError:
            raise SandboxFailure("service", f"{method} {path} was answered with something else than JSON") from None

    async def fetch(
        self, method: str, path: str, body: Any = None, *, asked_s: float = 0.0, within_s: float = math.inf,
        repeatable: bool = True,
    ) -> bytes:  # fmt: skip
        """Like `request`, the body as it is."""
        sent = None if body is None else to_json(body)
        patience_s, timeout_s = (min(each, within_s) for each in (self.patience_s, self._call_timeout_s + asked_s))
        given_up, repeated = time.monotonic() + self._person_s, False

        async def attempt() -> bytes:
            nonlocal repeated
            try:
                async with asyncio.timeout(timeout_s):
                    received = await self._connections.request(method, path, sent)
            except OSError as error:  # a timeout among them
                failure = SandboxFailure("service", what_failed(error))
                if not repeatable and not isinstance(error, NotConnected):
                    raise failure from error
                repeated = True
                raise TryAgain(failure, PAUSE_S) from error
            if received.status < 400:
                return received.body
            refusal = read_refusal(received.body)
            if refusal is None:  # not the service's words: something that stands between
                raise SandboxFailure("service", f"{method} {path} was answered {received.status}")
            if received.status == UNKNOWN:
                about = f"a file with a key that {self.address} knows; sandbox service: {refusal.message}"
                raise InputError(f"sandbox.key_file must be {about}")
            if received.status == FULL:  # nothing was done; there may be room in a moment
                raise TryAgain(raised_by(refusal, path), FULL_PAUSE_S)
            if refusal.code == HELD and time.monotonic() > given_up:
                raise SandboxFailure("person", f"a person has held the session for {self._person_s:g} s")
            if refusal.code in (BUSY, HELD):  # another page's end, or a person's hand: as long as it takes
                raise TryAgain(raised_by(refusal, path), PAUSE_S, restarts=True)
            if method == "DELETE" and repeated and refusal.code == ENDED:
                return b""
            raise raised_by(refusal, path)

        return await retrying(attempt, patience_s + asked_s)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease_s / 3)
            ids = list(self._leased)
            for first in range(0, len(ids), RENEWED_AT_ONCE):
                try:
                    asked = ids[first : first + RENEWED_AT_ONCE]
                    ended = (await self.request("POST", "/v1/renewals", {"ids": asked}))["ended"]
                except (SandboxFailure, InputError) as error:
                    log.warning("leases could not be renewed: %s", error)
                    continue
                for id in self._leased.intersection(ended):  # else it was released meanwhile; its next call meets it
                    log.warning("session %s has ended", id)
                    self.forget(id)


RAISED: Mapping[str, Callable[[Refusal], Exception]] = {
    PAGE_ERROR: lambda said: PageError(said.message),
    FAILURE: lambda said: SandboxFailure(said.param, said.message.partition(": ")[2]),
    QUOTA: lambda said: QuotaExceeded(said.message, own=True),
    BROKEN: lambda said: Broken(said.message),
    INTERNAL_ERROR: lambda said: SandboxFailure("service", said.message),
}


def raised_by(refusal: Refusal, path: str) -> Exception:
    """The exception that was raised on the other side (`errors.typed_errors`); any other refusal is of a wrong
    request."""
    if refusal.code == ENDED:
        return SessionEnded(path.split("/")[3])
    read = RAISED.get(refusal.code, lambda said: InputError(f"sandbox service: {said.message}"))
    return read(refusal)
