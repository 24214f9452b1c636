"""Checks before an endpoint runs: whom the server's name is for, that a body is small and comes in time."""

from __future__ import annotations

import asyncio
import ipaddress
import re

from starlette.types import Message, Receive

from tars_jax.web.protocol import RequestError

HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::[0-9]{0,5})?")  # RFC 9110, 7.2


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
        if self._complete.is_set():  # what comes now is the client's end, and takes its time
            return await self._receive()
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
    """Refuses a Host that is not this machine's: a page whose name was bent to 127.0.0.1 (DNS rebinding) sends its own.

    Takes localhost in any case and any address, with or without a port; HTTP/1.0 need not send one.
    """
    match = HOST.fullmatch(host.strip())
    bracketed, name = match.groups() if match else (None, host)
    local = (
        _is_address(bracketed, 6) if bracketed is not None else not name or is_localhost(name) or _is_address(name, 4)
    )
    if match is None or not local:
        raise RequestError(
            f"Host must be localhost or an address, as this server is on loopback; got {host[:200]!r}", status=400
        )


def is_localhost(name: str) -> bool:
    """Whether it is that name; names are the same in any case, and with the root's dot."""
    return name.lower().removesuffix(".") == "localhost"


def is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return is_localhost(host)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _is_address(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False
