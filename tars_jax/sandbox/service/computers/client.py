"""Computers of a service, for programs that use them over HTTP.

async with ComputerClient("http://127.0.0.1:8700", key) as client:
    computer = await client.open(parts=["shell", "files"])
    print((await computer.run("ls -la"))["output"])
    forks = await computer.fork(4)
"""

from __future__ import annotations

import base64
import secrets
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.client import ServiceClient


class ComputerClient(ServiceClient):
    """A call that had reached the service is not carried out twice, and no computer is opened twice."""

    async def open(self, *, parts: Sequence[str] = (), snapshot: str | None = None, **spec: Any) -> RemoteComputer:
        """A computer; `spec` as the service's README says: memory_mib, disk_mib, grace_seconds, ...

        Raises QuotaExceeded, InputError for a spec that cannot be, SandboxFailure.
        """
        body = {"kind": "computer", "lease_seconds": self.lease_s, "idempotency_key": secrets.token_hex(8), **spec}
        if parts:
            body["parts"] = list(parts)
        if snapshot is not None:
            body["snapshot"] = snapshot
        return self._computer(await self.request("POST", "/v1/sessions", body))

    async def snapshots(self) -> list[dict[str, Any]]:
        return (await self.request("GET", "/v1/snapshots"))["snapshots"]

    async def remove_snapshot(self, name: str) -> None:
        await self.request("DELETE", f"/v1/snapshots/{urllib.parse.quote(name, safe='')}")

    def _computer(self, opened: Mapping[str, Any]) -> RemoteComputer:
        self.keep(opened["id"])
        return RemoteComputer(self, opened["id"], opened["token"], opened.get("origin", "new"))


class RemoteComputer:
    """A leased computer. A call raises InputError for what cannot be, SandboxFailure when the computer has gone."""

    def __init__(self, client: ComputerClient, id: str, token: str, origin: str = "new") -> None:
        self.id, self.token = id, token
        self.origin = origin  # or how it was forked: "live", "replay", "files"
        self._client = client

    async def call(self, name: str, *, asked_s: float = 0.0, **fields: Any) -> dict[str, Any]:
        """A call by its name, see the service's README. `asked_s`: how long it may take by itself."""
        given = {key: value for key, value in fields.items() if value is not None}
        body = {"call": {"call": name, **given}, "idempotency_key": secrets.token_hex(8)}
        return await self._request("POST", "call", body, asked_s=asked_s)

    async def run(self, command: str, *, shell: str | None = None, timeout_s: float = 120.0) -> dict[str, Any]:
        """output, exit_code (None: it runs on), folder. The shell "main" is always there."""
        return await self.call("run", command=command, shell=shell, timeout_s=timeout_s, asked_s=timeout_s)

    async def more(self, *, shell: str | None = None, timeout_s: float = 10.0) -> dict[str, Any]:
        return await self.call("more", shell=shell, timeout_s=timeout_s, asked_s=timeout_s)

    async def type(self, text: str, *, shell: str | None = None, timeout_s: float = 1.0) -> dict[str, Any]:
        return await self.call("type", text=text, shell=shell, timeout_s=timeout_s, asked_s=timeout_s)

    async def interrupt(self, *, shell: str | None = None) -> dict[str, Any]:
        return await self.call("interrupt", shell=shell)

    async def run_cell(self, code: str, *, kernel: str | None = None, timeout_s: float = 120.0) -> dict[str, Any]:
        return await self.call("run_cell", code=code, kernel=kernel, timeout_s=timeout_s, asked_s=timeout_s)

    async def read(self, path: str) -> bytes:
        """A file of any size."""
        return await self._fetch("GET", f"files?path={urllib.parse.quote(path, safe='')}")

    async def write(self, path: str, data: bytes) -> dict[str, Any]:
        return await self.call("write", path=path, data_base64=base64.b64encode(data).decode())

    async def screenshot(self) -> bytes:
        """PNG of the desktop."""
        return base64.b64decode((await self.call("screenshot"))["png"])

    async def snapshot(self, name: str) -> dict[str, Any]:
        return await self._request("POST", "snapshots", {"name": name})

    async def fork(self, count: int = 1, way: str = "files") -> list[RemoteComputer]:
        """Computers that go on from this moment of this one; `origin` of each says by which way.

        `way`: "files", without programs; "live", with all programs as they are, the shells and kernels among them;
        "replay", by doing again what was called; "auto".
        """
        opened = await self._request("POST", "fork", {"count": count, "way": way}, repeatable=False)
        return [self._client._computer(each) for each in opened["sessions"]]

    async def suspend(self) -> str:
        """Suspends the computer: its programs stand still until the next call, or `resume`: on "disk", or "paused" in
        memory."""
        return (await self._request("POST", "suspend", {}))["suspended"]

    async def resume(self) -> None:
        """Resumes the computer; a second call does nothing."""
        await self._request("POST", "resume", {})

    async def record(self) -> None:
        """Records calls from now on."""
        await self._request("POST", "recording", {})

    async def recording(self) -> bytes:
        """The recording up to here, a .zip file: journal.jsonl and frames/."""
        return await self._fetch("GET", "recording")

    async def recorded_calls(self, after: int = 0) -> list[dict[str, Any]]:
        """The recorded calls from a number on, with what came of them."""
        return (await self._request("GET", f"recording/calls?after={after}", None))["calls"]

    async def state(self) -> dict[str, Any]:
        """The session's state, as the service tells it."""
        return await self._client.request("GET", f"/v1/sessions/{self.id}")

    def port_address(self, port: int) -> str:
        """The address of a port inside, for requests with `Authorization: Bearer` and the token."""
        return f"{self._client.address}/s/{self.id}/port/{port}/"

    async def close(self) -> None:
        """Releases the session. Idempotent, safe on one that is gone."""
        await self._client.release(self.id)

    async def _request(self, method: str, path: str, body: Any, **options: Any) -> Any:
        try:
            return await self._client.request(method, f"/v1/sessions/{self.id}/{path}", body, **options)
        except SessionEnded as error:
            raise SandboxFailure("service", str(error)) from error

    async def _fetch(self, method: str, path: str) -> bytes:
        try:
            return await self._client.fetch(method, f"/v1/sessions/{self.id}/{path}")
        except SessionEnded as error:
            raise SandboxFailure("service", str(error)) from error
