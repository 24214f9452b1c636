"""The services "shell:" (both forms of its protocol) and "exec:", which run lines of commands."""

from __future__ import annotations

import asyncio
import struct

from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.shell import run
from tars_jax.sandbox.phone.stand_in.streams import AdbStream

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
PIECE = 64 << 10
MOST_INPUT = 64 << 20  # bytes that a command reads
PROMPT = b"stand_in:/ $ "


class _Packets:
    """Shell protocol 2: a byte that says what it is, a length, data."""

    def __init__(self, stream: AdbStream) -> None:
        self._stream = stream

    async def write(self, kind: int, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            await self._stream.write(struct.pack("<BI", kind, len(piece)) + piece)

    async def read(self) -> bytes:
        """The next of what is typed; b"" at its end."""
        while True:
            kind, length = struct.unpack("<BI", await self._stream.read_exactly(5))
            if length > MOST_INPUT:
                return b""
            data = await self._stream.read_exactly(length)
            if kind == CLOSE_STDIN:
                return b""
            if kind == STDIN and data:
                return data


async def serve_shell(stream: AdbStream, device: StandInDevice, name: str) -> None:
    """`name` is what stood in OPEN: "shell:LINE", "shell,v2,TERM=..,pty:LINE" or "exec:LINE"."""
    head, _, line = name.partition(":")
    options = head.split(",")
    packets = _Packets(stream) if "v2" in options else None
    if not line and options[0] == "shell":
        await _interactive(stream, packets, device, echo="pty" in options or packets is None)
        return

    async def read_input() -> bytes:
        pieces, size = [], 0
        while size < MOST_INPUT and (piece := await (packets.read() if packets else stream.read())):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    result = await run(device, line, read_input)
    if packets is None:
        await stream.write(result.shown)
    else:
        await packets.write(STDOUT, result.stdout)
        await packets.write(STDERR, result.stderr)
        await packets.write(EXIT, bytes([result.status & 255]))


async def _interactive(stream: AdbStream, packets: _Packets | None, device: StandInDevice, *, echo: bool) -> None:
    """Line after line; what is typed is shown where a terminal expects it."""

    async def write(data: bytes) -> None:
        data = data.replace(b"\n", b"\r\n") if echo else data
        await (packets.write(STDOUT, data) if packets else stream.write(data))

    async def nothing() -> bytes:
        return b""

    line, status = b"", 0
    if echo:
        await write(PROMPT)
    while piece := await (packets.read() if packets else stream.read()):
        for letter in piece.replace(b"\r", b"\n"):
            sign = bytes([letter])
            if letter == 4 and not line:
                piece = b""
                break
            if letter in (8, 127):
                line = line[:-1]
                continue
            if letter == 3:
                line, sign = b"", b"\n"
            if echo:
                await write(sign)
            if sign != b"\n":
                line = (line + sign)[:PIECE]
                continue
            text, line = line.decode("utf-8", "replace").strip(), b""
            if text:
                result = await run(device, text, nothing)
                status = result.status
                await write(result.shown)
            if text.split(" ")[0] == "exit":
                piece = b""
                break
            if echo:
                await write(PROMPT)
        if not piece:
            break
        await asyncio.sleep(0)
    if packets:
        await packets.write(EXIT, bytes([status & 255]))
