"""The service "sync:", which moves files: STAT, LIST, SEND and RECV. (Android's adb/SYNC.TXT)"""

from __future__ import annotations

import struct

from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.device.storage import LIMIT
from tars_jax.sandbox.phone.stand_in.streams import AdbStream

LONGEST_PATH = 1024
PIECE = 64 << 10  # the most bytes of a DATA


async def serve_sync(stream: AdbStream, device: StandInDevice) -> None:
    """Requests until QUIT, or until the other side closes."""
    while True:
        kind, length = struct.unpack("<4sI", await stream.read_exactly(8))
        if kind == b"QUIT":
            return
        if length > LONGEST_PATH:
            await _fail(stream, "the path is too long")
            return
        path = (await stream.read_exactly(length)).decode("utf-8", "replace")
        if kind == b"STAT":
            await stream.write(b"STAT" + _stat(device, path))
        elif kind == b"LIST":
            await _list(stream, device, path)
        elif kind == b"RECV":
            await _receive(stream, device, path)
        elif kind == b"SEND":
            await _send(stream, device, path)
        else:
            await _fail(stream, f"unknown command {kind!r}")
            return


def _stat(device: StandInDevice, path: str) -> bytes:
    entry = device.storage.find(path)
    return struct.pack("<III", entry.mode, entry.size, entry.modified) if entry else bytes(12)


async def _list(stream: AdbStream, device: StandInDevice, path: str) -> None:
    try:
        names = device.storage.names(path)
    except OSError:
        names = []  # as the real one answers
    lines = []
    for name in names:
        raw = name.encode()
        lines.append(b"DENT" + _stat(device, f"{path}/{name}") + struct.pack("<I", len(raw)) + raw)
    await stream.write(b"".join([*lines, b"DONE", bytes(16)]))


async def _receive(stream: AdbStream, device: StandInDevice, path: str) -> None:
    try:
        content = device.storage.read(path)
    except OSError as error:
        await _fail(stream, f"open failed: {error.strerror}")
        return
    for start in range(0, len(content), PIECE):
        piece = content[start : start + PIECE]
        await stream.write(b"DATA" + struct.pack("<I", len(piece)) + piece)
    await stream.write(b"DONE" + bytes(4))


async def _send(stream: AdbStream, device: StandInDevice, target: str) -> None:
    """Reads all of it before the answer, also where there is no room: the sender listens at the end alone."""
    path, _, mode = target.rpartition(",")
    content = bytearray()
    problem = "" if path and mode.isdigit() else "a path and a mode must come"
    while True:
        kind, length = struct.unpack("<4sI", await stream.read_exactly(8))
        if kind == b"DONE":
            break
        if kind != b"DATA" or length > PIECE:
            await _fail(stream, "DATA or DONE must come")
            return
        piece = await stream.read_exactly(length)
        if not problem and len(content) + length > LIMIT:
            problem = "No space left on device"
            content.clear()
        if not problem:
            content += piece
    if not problem:
        try:
            device.storage.write(path, bytes(content), length, int(mode))
        except OSError as error:
            problem = f"couldn't create file: {error.strerror}"
    if problem:
        await _fail(stream, problem)
    else:
        await stream.write(b"OKAY" + bytes(4))


async def _fail(stream: AdbStream, message: str) -> None:
    raw = message.encode()
    await stream.write(b"FAIL" + struct.pack("<I", len(raw)) + raw)
