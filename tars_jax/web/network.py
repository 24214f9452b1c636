"""The way out for a page or a computer whose task names hosts: a proxy that connects to them and to nothing else.

The browser itself resolves no name (launch.py). A page with an allow-list speaks through a Proxy, which listens on a
port of loopback as long as the page lives; redirects, WebSockets and encrypted connections all pass it. A computer's
programs speak through one by its variables (outbound.py). An entry:

    example.com         ports 80 and 443        *.example.com       every name below it
    example.com:8080    that port alone         127.0.0.1:3000      this machine, where it is named by address
        *                   every public name       [::1]:3000          an IPv6 address stands in brackets

The localhost of a page may be another machine (`Loopback`): all its ports are then allowed, and it is never this one.

A name is resolved once, here, and the addresses that came of it are judged and connected to: another
answer a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias
from urllib.parse import urlsplit

from tars_jax import InputError

EVERY = "*"
ENTRY = re.compile(r"(\*\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.IGNORECASE)
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last part like this makes an address of a name, for browsers too
USUAL_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
LONGEST_HEAD = 1 << 16
HEAD_S = CONNECT_S = 15.0
CHUNK = 1 << 16
LOCALHOST = ("localhost", "127.0.0.1", "::1")
Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Loopback: TypeAlias = Callable[[int], Awaitable[Streams]]  # to a port; raises OSError where nothing answers
# IANA's special-purpose address registry (RFC 6890), multicast and what is reserved.
NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/3",
        ),
    )
)  # fmt: skip
# All that is public lies in 2000::/3. In it: protocols (Teredo, ORCHID and others), documentation, 6to4, documentation.
PUBLIC6 = IPv6Network("2000::/3")
NOT_PUBLIC6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
# Their last 32 bits are an IPv4 address: a translator (NAT64, RFC 6052) or this machine sends it there.
WRAPPED = tuple(map(IPv6Network, ("64:ff9b::/96", "::ffff:0:0/96")))
ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # before an IPv4 address in the lower half (RFC 5214)


@dataclasses.dataclass(frozen=True)
class Host:
    """A host: one entry of an allow-list."""

    name: str
    below: bool  # names below it, rather than it
    port: int | None  # None: 80 and 443

    def allows(self, name: str, port: int) -> bool:
        if self.name == EVERY:
            return port in (80, 443) and name not in ("", "localhost") and not _is_address(name)
        named = name.endswith(f".{self.name}") if self.below else name == self.name
        return named and (port in (80, 443) if self.port is None else port == self.port)


class Hosts:
    """An allow-list. Raises InputError for an entry that is none.

    `localhost`: all ports of it are allowed. `public`: an entry of this machine or its network is none, as where
    somebody else's file names hosts.
    """

    def __init__(self, entries: Sequence[str], *, localhost: bool = False, public: bool = False) -> None:
        self._hosts = [_host(entry, index) for index, entry in enumerate(entries)]
        for index, host in enumerate(self._hosts):
            if public and _is_local_by_name(host.name) and not (_is_address(host.name) and is_public(host.name)):
                raise InputError(f"network[{index}] must be of the public network; got {entries[index]!r}")
        self._localhost = localhost

    def allows(self, name: str, port: int) -> bool:
        name = _plain(name)
        return (self._localhost and name in LOCALHOST) or any(host.allows(name, port) for host in self._hosts)

    def allows_url(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            port = parts.port or USUAL_PORTS.get(parts.scheme)
        except ValueError:
            return False
        return port is not None and self.allows(parts.hostname or "", port)


def _host(entry: str, index: int) -> Host:
    if entry == EVERY:
        return Host(EVERY, below=True, port=None)
    match = ENTRY.fullmatch(entry)
    if match is None or not 0 < int(match[3] or 80) < 65536 or not _is_host(name := _plain(match[2]), below=match[1]):
        raise InputError(
            f"network[{index}] must be a host, *.host, *, host:port or an address as 127.0.0.1, [::1]; "
            f"got {entry[:200]!r}"
        )
    return Host(name, bool(match[1]), int(match[3]) if match[3] else None)


def _is_host(name: str, *, below: str | None) -> bool:
    """Whether it is a name, or an address as such: 127.1, 0x7f.1 and 2130706433 are ways to hide one."""
    is_number = ":" in name or NUMBER.fullmatch(name.rpartition(".")[2])
    return not is_number or (_is_address(name) and not below)


def _plain(name: str) -> str:
    """The one form of a name: lower case, without the root's dot, an IPv6 address in its shortest writing."""
    name = name.lower().removesuffix(".").strip("[]")
    return ipaddress.ip_address(name).compressed if ":" in name and _is_address(name) else name


def _is_address(name: str) -> bool:
    try:
        return ipaddress.ip_address(name) is not None
    except ValueError:
        return False


class Proxy:
    """The proxy of one page or computer. `loopback`: where its localhost is another machine.

    `transparent`: clients must not see that there is one, so that a host that cannot be reached is a connection that
    ends, as it would be without, and no answer with status 502 or 403, which a page takes for the host's.
    """

    def __init__(self, hosts: Hosts, loopback: Loopback | None = None, *, transparent: bool = False) -> None:
        self._hosts, self._loopback, self._transparent = hosts, loopback, transparent
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Listens; returns the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LONGEST_HEAD)
        return self._server.sockets[0].getsockname()[1]

    def allow(self, hosts: Hosts) -> None:
        """Other hosts from now on. What passes through it ends."""
        self._hosts = hosts
        self._end_all()

    def close(self) -> None:
        """Ends it, and what passes through it."""
        if self._server is not None:
            self._server.close()
        self._end_all()

    def _end_all(self) -> None:
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
        try:
            parts = urlsplit(f"//{target}" if tunnel else target)
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            parts, name, port = urlsplit(""), "", 0
        try:
            streams = await self._connected(name, port) if tunnel or parts.scheme == "http" else None
        except (OSError, TimeoutError):  # its name has no address, or nothing answers there
            await self._refuse(writer, b"502 Bad Gateway", tunnel=tunnel)
            return
        if streams is None:
            await self._refuse(writer, b"403 Forbidden", tunnel=tunnel)
            return
        there, back = streams
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
                back.write(f"{method} {path} HTTP/1.1\r\n".encode("latin-1") + _own_headers(headers))
            await _pipe(reader, writer, there, back)
        finally:
            back.close()

    async def _refuse(self, writer: asyncio.StreamWriter, status: bytes, *, tunnel: bool) -> None:
        if tunnel or not self._transparent:
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
            await writer.drain()

    async def _connected(self, name: str, port: int) -> Streams | None:
        """None for a host that is not allowed. Raises OSError where nothing answers."""
        if self._loopback is not None and _plain(name) in LOCALHOST:
            return await self._loopback(port)
        addresses = await self._addresses(name, port)
        return await _connect(addresses, port) if addresses else None

    async def _addresses(self, name: str, port: int) -> list[str]:
        """Those of an allowed host. A name that leads into this machine or its network, be it in part, has none."""
        if not self._hosts.allows(name, port):
            return []
        try:
            found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except UnicodeError:  # a part of it is empty or too long
            return []
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        return addresses if _is_local_by_name(_plain(name)) or all(map(is_public, addresses)) else []


def _is_local_by_name(name: str) -> bool:
    """Whether the list's author has said by the name itself that a local host is meant."""
    return name == "localhost" or _is_address(name)


async def _connect(addresses: Sequence[str], port: int) -> Streams:
    """To the first that answers. Raises OSError of the last."""
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):  # a timeout among them
            async with asyncio.timeout(CONNECT_S / len(addresses)):
                return await asyncio.open_connection(address, port)
    async with asyncio.timeout(CONNECT_S / len(addresses)):
        return await asyncio.open_connection(addresses[-1], port)


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


def is_public(address: str) -> bool:
    """Whether it is of the public network, and not of this machine, its network or a group. Raises ValueError."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in NOT_PUBLIC)
    inner = IPv4Address(int(parsed) & 0xFFFF_FFFF)
    if any(parsed in network for network in WRAPPED):
        return is_public(str(inner))
    if parsed not in PUBLIC6 or any(parsed in network for network in NOT_PUBLIC6):
        return False
    return not _is_isatap(parsed) or is_public(str(inner))


def _is_isatap(address: IPv6Address) -> bool:
    return (int(address) >> 32) & 0xFFFF_FFFF in ISATAP
