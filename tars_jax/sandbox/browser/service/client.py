"""The far side of a browser service, with the interface of a BrowserManager: environments take either."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import logging
import math
import os
import secrets
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.events import InputEvent, real_seconds
from tars_jax.sandbox.browser.manager import BrowserManager, ManagerStats
from tars_jax.sandbox.browser.screenshots import Observation
from tars_jax.sandbox.browser.service.config import folder_name
from tars_jax.sandbox.browser.service.errors import BUSY, ENDED, FAILURE, FULL, HELD, PAGE_ERROR, QUOTA
from tars_jax.sandbox.browser.sessions.calls import Act, Call, Evaluate, Start, call_to_json
from tars_jax.sandbox.browser.site import Site
from tars_jax.sandbox.failures import PageError, QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.web.connections import Connections
from tars_jax.web.protocol import INTERNAL_ERROR, to_json

log = logging.getLogger(__name__)
ADDRESS_VARIABLE, KEY_VARIABLE = "TARS_JAX_BROWSER_SERVICE", "TARS_JAX_BROWSER_KEY"
PAUSE_S = 0.2  # between two attempts to reach the service
FULL_PAUSE_S = 2.0  # between two attempts where its disk is full: each may go a page's whole way again


def browsers(config: BrowserConfig) -> BrowserManager | BrowserClient:
    """What opens the pages of `config`, not started yet: browsers of this process, or a service's where one is named.

    $TARS_JAX_BROWSER_SERVICE is its address and $TARS_JAX_BROWSER_KEY an owner's key: where the browsers are is a
    matter of the machines, as the place of Chromium is, and the pages are the same to the byte.
    """
    address = os.environ.get(ADDRESS_VARIABLE)
    if not address:
        return BrowserManager(config)
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise InputError(f"{KEY_VARIABLE} must be an owner's key beside {ADDRESS_VARIABLE}={address}; got nothing")
    return BrowserClient(address, key, width=config.width, height=config.height)


class BrowserClient:
    """Pages of a browser service; an async context manager.

    A service that is out of reach (it is started again, for instance) or whose disk is full is asked again for
    `patience_s`; a call that had reached it is not carried out twice, and no page is opened twice. While the client
    lives it renews the leases of its pages, however long the policy thinks; when it dies, the service collects them.

    Args:
        address: of the service, http://HOST:PORT.
        key: an owner's.
        width, height: of viewports unless a page says otherwise, CSS pixels.
        lease_s: how long a page outlives a client that has died.
    """

    def __init__(
        self, address: str, key: str, *, width: int = 96, height: int = 96, lease_s: float = 120.0,
        patience_s: float = 60.0, call_timeout_s: float = 120.0,
    ) -> None:  # fmt: skip
        self.width, self.height, self.lease_s, self.patience_s = width, height, lease_s, patience_s
        self._connections = Connections(address, {"Authorization": f"Bearer {key}"})
        self._call_timeout_s = call_timeout_s
        self.stats = ManagerStats()  # of this client's pages
        self._pages: dict[str, RemotePage] = {}
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> BrowserClient:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Raises InputError when the key is unknown, SandboxFailure when there is no service."""
        await self.request("GET", "/v1/stats")
        self._renewing = asyncio.create_task(self._renew())

    async def close(self) -> None:
        """Releases the pages. Idempotent."""
        if self._renewing is not None:
            self._renewing.cancel()
        with contextlib.suppress(SandboxFailure):
            await asyncio.gather(*(page.close() for page in list(self._pages.values())))
        await self._connections.__aexit__()

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (), record: bool = False,
    ) -> RemotePage:  # fmt: skip
        """As BrowserManager.open_page: waits while all places are taken. `record`: the service keeps every frame.

        Raises QuotaExceeded when this owner has as many pages as it may, otherwise as the manager.
        """
        width, height = size or (self.width, self.height)
        mounts = {name: folder_name(folder) for name, folder in site.mounts}
        body = {
            "site": {"root": folder_name(site.root), "index": site.index, "mounts": mounts},
            "width": width, "height": height, "single_canvas": single_canvas, "network": list(network),
            "lease_seconds": self.lease_s, "record": record, "once": secrets.token_hex(8),
        }  # fmt: skip
        opened = await self.request("POST", "/v1/sessions", body)
        page = self._pages[opened["id"]] = RemotePage(self, opened["id"], opened["token"])
        self.stats.pages_opened += 1
        self.stats.pages_open = len(self._pages)
        return page

    async def request(self, method: str, path: str, body: Any = None, *, asked_s: float = 0.0) -> Any:
        """The JSON of a response, which may take `asked_s` longer than others.

        Raises what the service says; SandboxFailure("service") when it is out of reach.
        """
        received = await self.fetch(method, path, body, asked_s=asked_s)
        return json.loads(received) if received else None

    async def fetch(self, method: str, path: str, body: Any = None, *, asked_s: float = 0.0) -> bytes:
        """As `request`, the body as it is."""
        sent = None if body is None else to_json(body)
        until = time.monotonic() + self.patience_s + asked_s
        for attempt in itertools.count():
            try:
                async with asyncio.timeout(self._call_timeout_s + asked_s):
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
                code, _, _ = (refusal[name] for name in ("code", "message", "param"))
            except (ValueError, LookupError, TypeError):  # not the service's words: something that stands between
                raise SandboxFailure("service", f"{method} {path} was answered {received.status}") from None
            if received.status == FULL and time.monotonic() < until:  # nothing was done; there may be room in a moment
                await asyncio.sleep(FULL_PAUSE_S)
                continue
            if code in (BUSY, HELD):  # another page's end, or a person's hand: as long as it takes
                await asyncio.sleep(PAUSE_S)
                until = time.monotonic() + self.patience_s + asked_s
                continue
            if method == "DELETE" and attempt and code == ENDED:
                return b""
            raise _raised(refusal, path)
        raise AssertionError("the loop returns or raises")

    def forget(self, id: str) -> None:
        self._pages.pop(id, None)
        self.stats.pages_open = len(self._pages)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease_s / 3)
            for id in list(self._pages):
                try:
                    await self.request("POST", f"/v1/sessions/{id}/renew", {})
                except (SandboxFailure, SessionEnded, InputError) as error:  # its next call meets it, too
                    log.warning("session %s: %s", id, error)


class RemotePage:
    """A page behind a service, with the interface of a Page. A session that is gone is a SandboxFailure("service")."""

    def __init__(self, client: BrowserClient, id: str, token: str) -> None:
        self.id, self.token = id, token
        self._client = client
        self._closed = False

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> Observation:
        """As Page.start."""
        return _observation(await self._call(Start(expression, seed, read)))

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> Observation:
        """As Page.act."""
        return _observation(await self._call(Act(tuple(events), advance_ms, read, rate)))

    async def evaluate(self, expression: str) -> Any:
        """As Page.evaluate."""
        return (await self._call(Evaluate(expression)))["value"]

    async def checkpoint(self) -> dict[str, Any]:
        """Where the page is: url, clock_ms, storage, journal."""
        return await self._client.request("GET", f"/v1/sessions/{self.id}/checkpoint")

    async def recording(self) -> bytes:
        """The .zip file of a page that was opened with `record`."""
        return await self._client.fetch("GET", f"/v1/sessions/{self.id}/recording")

    async def downloads(self) -> list[dict[str, Any]]:
        """What the page has downloaded so far: number, name, url, bytes, sha256 each."""
        return (await self._client.request("GET", f"/v1/sessions/{self.id}/downloads"))["downloads"]

    async def download(self, number: int) -> bytes:
        return await self._client.fetch("GET", f"/v1/sessions/{self.id}/downloads/{number}")

    async def close(self) -> None:
        """Releases the session. Idempotent, safe on one that is gone."""
        self._client.forget(self.id)
        if not self._closed:
            self._closed = True
            with contextlib.suppress(SessionEnded):
                await self._client.request("DELETE", f"/v1/sessions/{self.id}")

    async def _call(self, call: Call) -> Any:
        if self._closed:
            raise RuntimeError("the page is closed")
        body = {"call": call_to_json(call), "once": secrets.token_hex(8)}
        asked_s = real_seconds(call.advance_ms, call.rate) if isinstance(call, Act) else 0.0
        try:
            return await self._client.request("POST", f"/v1/sessions/{self.id}/call", body, asked_s=asked_s)
        except SessionEnded as error:
            self._client.stats.failures["service"] += 1
            raise SandboxFailure("service", str(error)) from error
        except SandboxFailure as failure:
            self._client.stats.failures[failure.kind] += 1
            raise


def _observation(answer: dict[str, Any]) -> Observation:
    return Observation(base64.b64decode(answer["png"]), answer["data"])


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
    if code == INTERNAL_ERROR:
        return SandboxFailure("service", message)
    return InputError(f"browser service: {message}")
