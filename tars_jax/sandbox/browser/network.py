"""The way out for a page whose task names hosts: a proxy of its own that connects to them and to nothing else.

The browser itself resolves no name (launch.py). A page with an allow-list speaks through a Gate, which listens on a
port of loopback as long as the page lives; redirects, WebSockets and encrypted connections all pass it. An entry:

    example.com         ports 80 and 443        *.example.com       every name below it
    example.com:8080    that port alone         127.0.0.1:3000      this machine, where it is named by address
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from tars_jax import InputError

ENTRY = re.compile(r"(\*\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::([0-9]{1,5}))?", re.IGNORECASE)
USUAL_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
LONGEST_HEAD = 1 << 16
HEAD_S = CONNECT_S = 15.0
CHUNK = 1 << 16


@dataclasses.dataclass(frozen=True)
class Host:
    """One entry of an allow-list."""

    name: str
    below: bool  # names below it, rather than it
    port: int | None  # None: 80 and 443

    def allows(self, name: str, port: int) -> bool:
        named = name.endswith(f".{self.name}") if self.below else name == self.name
        return named and (port in (80, 443) if self.port is None else port == self.port)


class Hosts:
    """An allow-list. Raises InputError for an entry that is none."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._hosts = [_host(entry, index) for index, entry in enumerate(entries)]

    def allows(self, name: str, port: int) -> bool:
        return any(host.allows(name.lower().rstrip("."), port) for host in self._hosts)

    def allows_url(self, url: str) -> bool:
        parts = urlsplit(url)
        try:
            port = parts.port or USUAL_PORTS.get(parts.scheme)
        except ValueError:
            return False
        return port is not None and self.allows(parts.hostname or "", port)


def _host(entry: str, index: int) -> Host:
    match = ENTRY.fullmatch(entry)
    if match is None or not 0 < int(match[3] or 80) < 65536:
        raise InputError(f"network[{index}] is {entry[:200]!r}; it takes a host, *.host or host:port")
    return Host(match[2].lower(), bool(match[1]), int(match[3]) if match[3] else None)


class Gate:
    """The proxy of one page."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Listens; returns the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LONGEST_HEAD)
        return self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Ends it, and what passes through it."""
        if self._server is not None:
            self._server.close()
        for task in self._passing:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                await self._pass_on(reader, writer)
        except asyncio.CancelledError:
            pass  # the page is over
        finally:
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        line, _, headers = head.partition(b"\r\n")
        method, target, _ = [*line.decode("latin-1").split(" "), "", ""][:3]
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        try:
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            name, port = "", 0
        address = await self._address(name, port) if tunnel or parts.scheme == "http" else None
        if address is None:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        async with asyncio.timeout(CONNECT_S):
            there, back = await asyncio.open_connection(address, port)
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
                back.write(f"{method} {path} HTTP/1.1\r\n".encode("latin-1") + _own_headers(headers))
            await _pipe(reader, writer, there, back)
        finally:
            back.close()

    async def _address(self, name: str, port: int) -> str | None:
        """An address of an allowed host. A name that leads into this machine or its network is not one."""
        if not self._hosts.allows(name, port):
            return None
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(name, port, type=1)
        address = str(found[0][4][0])
        local = not ipaddress.ip_address(address).is_global
        return None if local and not _is_local_by_name(name) else address


def _is_local_by_name(name: str) -> bool:
    """Whether the list's author has said by the name itself that a local host is meant."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return name == "localhost"


def _own_headers(headers: bytes) -> bytes:
    """Headers for the host itself: one request a connection, nothing about the proxy."""
    kept = [
        line
        for line in headers.rstrip(b"\r\n").split(b"\r\n")
        if not line.lower().startswith((b"proxy-", b"connection:"))
    ]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""])


async def _pipe(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    there: asyncio.StreamReader, back: asyncio.StreamWriter,
) -> None:  # fmt: skip
    """Passes bytes both ways until the host has said all."""

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while chunk := await source.read(CHUNK):
            sink.write(chunk)
            await sink.drain()

    upwards = asyncio.ensure_future(copy(reader, back))
    try:
        await copy(there, writer)
    finally:
        upwards.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await upwards
