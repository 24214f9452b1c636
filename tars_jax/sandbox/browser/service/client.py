"""The far side of a browser service, with the interface of a BrowserManager: environments take either."""

from __future__ import annotations

import base64
import math
import secrets
from collections.abc import Sequence
from typing import Any

from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.events import InputEvent, real_seconds
from tars_jax.sandbox.browser.manager import BrowserManager, ManagerStats
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.sessions.calls import Act, Call, Evaluate, Start, call_to_json
from tars_jax.sandbox.browser.site import Site
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.client import ServiceClient
from tars_jax.sandbox.service.config import folder_name


def browsers(config: BrowserConfig, at: SandboxAddress | None = None) -> BrowserManager | BrowserClient:
    """Opener of the pages of `config`, not started yet: browsers of this process, or a service's where one is named.

    Where the browsers are is a matter of the machines: the pages are the same to the byte.
    """
    if at is None or not at.service:
        return BrowserManager(config)
    return BrowserClient(at.service, at.key, width=config.width, height=config.height)


class BrowserClient(ServiceClient):
    """Pages of a sandbox service.

    A call that had reached the service is not carried out twice, and no page is opened twice.

    Args:
        width, height: of viewports unless a page says otherwise, CSS pixels.
    """

    def __init__(
        self, address: str, key: str, *, width: int = 96, height: int = 96, lease_s: float = 120.0,
        patience_s: float = 60.0, call_timeout_s: float = 120.0,
    ) -> None:  # fmt: skip
        super().__init__(address, key, lease_s=lease_s, patience_s=patience_s, call_timeout_s=call_timeout_s)
        self.width, self.height = width, height
        self.stats = ManagerStats()  # of this client's pages

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (), record: bool = False,
    ) -> RemotePage:  # fmt: skip
        """Opens a page as BrowserManager.open_page does: waits while all places are taken. `record`: the service keeps
        every frame.

        Raises QuotaExceeded when this owner has as many pages as it may, otherwise as the manager.
        """
        width, height = size or (self.width, self.height)
        mounts = {name: folder_name(folder) for name, folder in site.mounts}
        body = {
            "kind": "browser",
            "site": {"root": folder_name(site.root), "index": site.index, "mounts": mounts},
            "width": width, "height": height, "single_canvas": single_canvas, "network": list(network),
            "lease_seconds": self.lease_s, "record": record, "idempotency_key": secrets.token_hex(8),
        }  # fmt: skip
        opened = await self.request("POST", "/v1/sessions", body)
        self.keep(opened["id"])
        self.stats.pages_opened += 1
        return RemotePage(self, opened["id"], opened["token"])

    def keep(self, id: str) -> None:
        super().keep(id)
        self.stats.pages_open = len(self._leased)

    def forget(self, id: str) -> None:
        super().forget(id)
        self.stats.pages_open = len(self._leased)


class RemotePage:
    """A page behind a service, with the interface of a Page. A session that is gone is a SandboxFailure("service")."""

    def __init__(self, client: BrowserClient, id: str, token: str) -> None:
        self.id, self.token = id, token
        self._client = client
        self._closed = False

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation:
        """Like `Page.start`."""
        return _observation(await self._call(Start(expression, seed, read)))

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> PageObservation:
        """Like `Page.act`."""
        return _observation(await self._call(Act(tuple(events), advance_ms, read, rate)))

    async def evaluate(self, expression: str) -> Any:
        """Like `Page.evaluate`."""
        return (await self._call(Evaluate(expression)))["value"]

    async def checkpoint(self) -> dict[str, Any]:
        """Checkpoint of the page: url, clock_ms, storage, journal."""
        return await self._client.request("GET", f"/v1/sessions/{self.id}/checkpoint")

    async def recording(self) -> bytes:
        """The .zip file of a page that was opened with `record`."""
        return await self._client.fetch("GET", f"/v1/sessions/{self.id}/recording")

    async def downloads(self) -> list[dict[str, Any]]:
        """Downloads of the page so far: number, name, url, bytes, sha256 each."""
        return (await self._client.request("GET", f"/v1/sessions/{self.id}/downloads"))["downloads"]

    async def download(self, number: int) -> bytes:
        return await self._client.fetch("GET", f"/v1/sessions/{self.id}/downloads/{number}")

    async def close(self) -> None:
        """Releases the session. Idempotent, safe on one that is gone."""
        if not self._closed:
            self._closed = True
            await self._client.release(self.id)

    async def _call(self, call: Call) -> Any:
        if self._closed:
            raise RuntimeError("the page is closed")
        body = {"call": call_to_json(call), "idempotency_key": secrets.token_hex(8)}
        asked_s = real_seconds(call.advance_ms, call.rate) if isinstance(call, Act) else 0.0
        try:
            return await self._client.request("POST", f"/v1/sessions/{self.id}/call", body, asked_s=asked_s)
        except SessionEnded as error:
            self._client.stats.failures["service"] += 1
            raise SandboxFailure("service", str(error)) from error
        except SandboxFailure as failure:
            self._client.stats.failures[failure.kind] += 1
            raise


def _observation(answer: dict[str, Any]) -> PageObservation:
    return PageObservation(base64.b64decode(answer["png"]), answer["data"])
