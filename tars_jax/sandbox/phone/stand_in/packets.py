"""The packets of ADB's wire: 24 bytes of head, then data. (Android's adb/protocol.txt)"""

from __future__ import annotations

import asyncio
import dataclasses
import struct

CNXN, AUTH, OPEN, OKAY, CLSE, WRTE, STLS = (
    int.from_bytes(name, "little") for name in (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE", b"STLS")
)
COMMANDS = {CNXN, AUTH, OPEN, OKAY, CLSE, WRTE, STLS}
VERSION = 0x01000001  # from it on nobody looks at the sum of the data
MOST_DATA = 256 << 10  # bytes of a packet
HEAD = struct.Struct("<6I")


class BadPacket(Exception):
    """Bytes that are no packet of ADB's; the connection cannot go on."""


@dataclasses.dataclass(frozen=True)
class Packet:
    """`first` and `second` mean what the command says they do: versions, or ids of a stream on both sides."""

    command: int
    first: int = 0
    second: int = 0
    data: bytes = b""

    def encode(self) -> bytes:
        head = HEAD.pack(self.command, self.first, self.second, len(self.data), sum(self.data) & 0xFFFFFFFF,
                         self.command ^ 0xFFFFFFFF)  # fmt: skip
        return head + self.data


async def read_packet(reader: asyncio.StreamReader) -> Packet | None:
    """The next packet; None at the end. Raises BadPacket, also for one that ends in the middle."""
    try:
        head = await reader.readexactly(HEAD.size)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise BadPacket("the connection ended in a head") from error
        return None
    command, first, second, length, _, magic = HEAD.unpack(head)
    if command not in COMMANDS or magic != command ^ 0xFFFFFFFF:
        raise BadPacket(f"the head {head[:4]!r} is none of ADB's")
    if length > MOST_DATA:
        raise BadPacket(f"a packet must have at most {MOST_DATA} bytes of data; got {length}")
    try:
        return Packet(command, first, second, await reader.readexactly(length))
    except asyncio.IncompleteReadError as error:
        raise BadPacket("the connection ended in a packet") from error
