"""One connection of an ADB server: the greeting, and streams that share it, each of which runs a service."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable

from tars_jax.sandbox.phone.stand_in.packets import (
    AUTH,
    CLSE,
    CNXN,
    MOST_DATA,
    OKAY,
    OPEN,
    STLS,
    VERSION,
    WRTE,
    BadPacket,
    Packet,
    read_packet,
)  # fmt: skip

GREETING_SECONDS = 10.0  # for the first packet
MOST_STREAMS = 64
MOST_WAITING = 4 << 20  # bytes of a stream that nobody has read
FINISH_SECONDS = 5.0  # for a service whose client has left: `exec-in` closes behind its last byte
TOKEN = 1  # AUTH: sign these 20 bytes


class StreamClosed(Exception):
    """The other side has closed the stream."""


class AdbStream:
    """Bytes both ways. `read` acknowledges what it takes, and the other side sends the next packet then."""

    def __init__(self, connection: AdbConnection, own: int, other: int) -> None:
        self._connection, self._own, self._other = connection, own, other
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""
        self._acknowledged = asyncio.Event()
        self._acknowledged.set()
        self._waiting = 0  # bytes that came and were not read
        self._closed = False  # by the other side
        self._ended = False  # and nothing is left to read
        self.task: asyncio.Task[None] | None = None

    async def read(self) -> bytes:
        """Bytes that have come; b"" once the other side has closed."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        if self._ended:
            return b""
        piece = await self._incoming.get()
        if piece is None:
            self._ended = True
            return b""
        self._waiting -= len(piece)
        if not self._closed:
            await self._connection.send(Packet(OKAY, self._own, self._other))
        return piece

    async def read_exactly(self, count: int) -> bytes:
        """Raises StreamClosed where fewer come."""
        pieces, have = [], 0
        while have < count:
            piece = await self.read()
            if not piece:
                raise StreamClosed
            pieces.append(piece)
            have += len(piece)
        data = b"".join(pieces)
        self._rest = data[count:] + self._rest
        return data[:count]

    async def write(self, data: bytes) -> None:
        """Returns when all of it is acknowledged. Raises StreamClosed."""
        step = self._connection.most_data
        for start in range(0, len(data), step):
            if self._closed:
                raise StreamClosed
            self._acknowledged.clear()
            await self._connection.send(Packet(WRTE, self._own, self._other, data[start : start + step]))
            await self._acknowledged.wait()

    def acknowledge(self) -> None:
        self._acknowledged.set()

    def receive(self, data: bytes) -> None:
        """Raises BadPacket for more than may wait: adb waits for each acknowledgement, but not when it closes."""
        self._waiting += len(data)
        if self._waiting > MOST_WAITING:
            raise BadPacket("data came faster than they were acknowledged")
        if data:
            self._incoming.put_nowait(data)

    def end(self, seconds: float) -> None:
        """The other side has closed: what it sent before can be read, and the service has `seconds` to finish."""
        self._closed = True
        self._incoming.put_nowait(None)
        self._acknowledged.set()
        if self.task is not None:
            asyncio.get_running_loop().call_later(seconds, self.task.cancel)


Service = Callable[[AdbStream], Awaitable[None]]


class AdbConnection:
    """Serves one TCP connection. `find` gives the service of a name, None for one that there is not."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, banner: bytes,
        find: Callable[[str], Service | None], *, authorized: bool,
    ) -> None:  # fmt: skip
        self._reader, self._writer, self._banner, self._find = reader, writer, banner, find
        self._authorized = authorized
        self._streams: dict[int, AdbStream] = {}
        self._next = 1
        self.most_data = 4096  # bytes that the other side takes in a packet

    async def send(self, packet: Packet) -> None:
        self._writer.write(packet.encode())
        await self._writer.drain()

    async def run(self) -> None:
        """Answers until the other side leaves, or sends what is no ADB; then all streams have ended."""
        try:
            if await self._greet():
                while (packet := await read_packet(self._reader)) is not None:
                    await self._take(packet)
        except (BadPacket, OSError, TimeoutError):
            pass  # nobody is left to be told
        finally:
            streams = list(self._streams.values())
            for stream in streams:
                stream.end(0)
            await asyncio.gather(*(stream.task for stream in streams if stream.task), return_exceptions=True)
            self._writer.close()

    async def _greet(self) -> bool:
        async with asyncio.timeout(GREETING_SECONDS):
            packet = await read_packet(self._reader)
        if packet is None or packet.command != CNXN:
            return False
        self.most_data = max(256, min(packet.second, MOST_DATA))
        if not self._authorized:
            await self.send(Packet(AUTH, TOKEN, 0, secrets.token_bytes(20)))
            return True
        await self.send(Packet(CNXN, VERSION, MOST_DATA, self._banner))
        return True

    async def _take(self, packet: Packet) -> None:
        if packet.command == CNXN:
            raise BadPacket("a second greeting")
        if packet.command == STLS:
            raise BadPacket("TLS is not spoken here")
        if packet.command == AUTH:
            # A phone whose owner never allows this computer: no key is good, and it asks again.
            if packet.first != 3:
                await self.send(Packet(AUTH, TOKEN, 0, secrets.token_bytes(20)))
            return
        if not self._authorized:
            raise BadPacket("a stream before the key was accepted")
        if packet.command == OPEN:
            await self._open(packet)
            return
        stream = self._streams.get(packet.second)
        if packet.command == CLSE:
            if stream is not None:
                stream.end(FINISH_SECONDS)
        elif stream is None:
            await self.send(Packet(CLSE, 0, packet.first))
        elif packet.command == WRTE:
            stream.receive(packet.data)
        else:
            stream.acknowledge()

    async def _open(self, packet: Packet) -> None:
        name = packet.data.rstrip(b"\0").decode("utf-8", "replace")
        service = self._find(name) if len(self._streams) < MOST_STREAMS else None
        if service is None or packet.first == 0:
            await self.send(Packet(CLSE, 0, packet.first))
            return
        own, self._next = self._next, self._next + 1
        stream = self._streams[own] = AdbStream(self, own, packet.first)
        await self.send(Packet(OKAY, own, packet.first))
        stream.task = asyncio.get_running_loop().create_task(self._serve(stream, service, own, packet.first))

    async def _serve(self, stream: AdbStream, service: Service, own: int, other: int) -> None:
        try:
            with contextlib.suppress(StreamClosed):
                await service(stream)
        finally:
            self._streams.pop(own, None)
            with contextlib.suppress(OSError):
                await self.send(Packet(CLSE, own, other))
