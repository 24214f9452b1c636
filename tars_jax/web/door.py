"""What a server checks before an endpoint runs: whom its name is for, that a body is small and comes in time."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress

from starlette.types import Message, Receive

from tars_jax.web.protocol import RequestError


class Body:
    """A request's body on its way in, counted and timed."""

    def __init__(self, receive: Receive, limit: int, seconds: float, *, a_piece: bool) -> None:
        self._receive, self._limit, self._seconds, self._a_piece = receive, limit, seconds, a_piece
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._size = 0
        self._complete = asyncio.Event()

    def require_small(self, content_length: bytes | None) -> None:
        if content_length is not None and content_length.isdigit() and int(content_length[:20]) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        if self._a_piece:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError as error:
            raise RequestError(
                f"the body has not come within {self._seconds:g} seconds", status=408, code="body_timeout"
            ) from error
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > self._limit:
                raise self._too_large()
            if not message.get("more_body", False):
                self._complete.set()
        return message

    async def disconnected(self) -> None:
        """Returns when the client has left, but not before the body is complete: until then the endpoint listens."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _too_large(self) -> RequestError:
        return RequestError(
            f"the body is larger than {self._limit} bytes, which is the most that is taken here",
            status=413,
            code="body_too_large",
        )


def require_local_name(host: str) -> None:
    """A page whose name was bent to 127.0.0.1 (DNS rebinding) still sends its own name."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.strip("[]")
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return
    if name not in ("", "localhost"):
        raise RequestError(f"Host is {name!r}; a server on loopback takes localhost or an address", status=400)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
