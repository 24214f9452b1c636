"""A desktop for VNC clients that speak TCP: a port of the loopback and a password, for who has the session's token.

Other than the page's, such a client has the hand as soon as it presses something, unless another has it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from tars_jax.sandbox.service.computers.session import ComputerSession

PIECE = 1 << 16
LETTERS = 8  # of a password, as the protocol takes no more


class TcpSocket:
    """A TCP connection with the methods of a WebSocket that a viewer calls."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> dict[str, Any]:
        data = await self._reader.read(PIECE)
        return {"type": "websocket.receive", "bytes": data} if data else {"type": "websocket.disconnect"}

    async def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self, code: int = 0, reason: str = "") -> None:
        self._writer.close()


class VncPort:
    """Opened when it is first asked for; it ends with the session."""

    def __init__(self, session: ComputerSession, show: Callable[[TcpSocket, str], Awaitable[None]]) -> None:
        """`show`: a viewer on a connection, with the password."""
        self._session, self._show = session, show
        self._password = secrets.token_hex(LETTERS // 2)
        self._serving: asyncio.Task[None] | None = None
        self._port = 0
        self._opening = asyncio.Lock()

    async def opened(self) -> dict[str, Any]:
        """Opens the port and tells its address. Raises SessionEnded, OSError."""
        async with self._opening:
            if self._serving is None or self._serving.done():
                server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
                self._port = server.sockets[0].getsockname()[1]
                self._serving = asyncio.create_task(self._until_over(server))
        return {"host": "127.0.0.1", "port": self._port, "password": self._password}

    async def _until_over(self, server: asyncio.Server) -> None:
        over = asyncio.Event()
        with self._session.when_over(over.set):
            await over.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._show(TcpSocket(reader, writer), self._password)


def expected(challenge: bytes, password: str) -> bytes:
    """The answer of a client with the password (RFC 6143, 7.2.2): the challenge by DES, its key with the bits
    turned."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES  # of one key, thrice, it is DES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    key = bytes(int(f"{byte:08b}"[::-1], 2) for byte in password.encode().ljust(LETTERS, b"\0")[:LETTERS])
    encryptor = Cipher(TripleDES(3 * key), modes.ECB()).encryptor()
    return encryptor.update(challenge) + encryptor.finalize()
