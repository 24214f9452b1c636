"""Adoption of a launcher by a new process after its owner was killed (launcher/adoption.py is the other side)."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import struct
from pathlib import Path
from typing import Any

from tars_jax.sandbox.computer.launcher.adoption import CONTROL, PROTOCOL

ANSWER_S = 30.0  # CRIU may have to end first
MOST_DESCRIPTORS = 100  # of a message


@dataclasses.dataclass(frozen=True)
class Adopted:
    """A container that the owner before had."""

    plan: dict[str, Any]  # as it was launched
    pid: int  # its first process; 0: it has ended
    status: int  # with which it has ended
    disk: int  # a descriptor of its mounted disk; -1: it has none

    def close(self) -> None:
        if self.disk >= 0:
            os.close(self.disk)


def introduce(folder: Path, secret: str) -> tuple[socket.socket, list[Adopted], int]:
    """The connection to the launcher of a run folder, its containers, and a descriptor of the folder's lock.

    Raises OSError where there is no launcher, the secret is another, the owner is still there, or the launcher is of a
    version with another protocol.
    """
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX)
    descriptors: list[int] = []
    try:
        connection.settimeout(ANSWER_S)
        connection.connect(f"/proc/self/fd/{place}/{CONTROL}")
        connection.sendall(json.dumps({"secret": secret}).encode() + b"\n")
        said = b""
        while b"\n" not in said:
            piece, more, _, _ = socket.recv_fds(connection, 1 << 16, MOST_DESCRIPTORS)
            descriptors += more
            if not piece:
                raise ConnectionRefusedError("the launcher does not take this owner")
            said += piece
        value = json.loads(said.lstrip(b"."))
        if (protocol := value.get("protocol", 1)) != PROTOCOL:  # the first version said none
            raise OSError(f"their launcher is of another version, with protocol {protocol}; this one has {PROTOCOL}")
        if value["descriptors"] != len(descriptors):
            raise OSError("the launcher's descriptors did not all come")
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        adopted = [
            Adopted(each["plan"], each["pid"], each["status"], descriptors[each["disk"]] if each["disk"] > 0 else -1)
            for each in value["adopted"]
        ]
        return connection, adopted, descriptors[0]
    except BaseException as error:
        connection.close()
        for descriptor in descriptors:
            os.close(descriptor)
        if isinstance(error, ValueError | KeyError | TypeError):
            raise OSError(f"the launcher answers in another form: {error!r}") from error
        raise
    finally:
        os.close(place)


def peer_of(peer: socket.socket) -> int:
    """The process that listens at the other end of a unix socket."""
    return struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
