"""Containers, which every kind of isolation gives."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tars_jax.sandbox.computer.processes import Process
from tars_jax.sandbox.computer.spec import USER_ID, ContainerSpec
from tars_jax.sandbox.computer.walking import Sought


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The files of a container at one moment. It lasts until `Containers.remove_snapshot`, or as long as its owner."""

    name: str
    layers: tuple[dict[str, Any], ...]  # of plans, the uppermost first
    bytes: int  # that it takes on this machine's disk

    def __str__(self) -> str:
        return f"{self.name} ({self.bytes >> 20} MiB)"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A container's files and processes at one moment. It lasts until it is removed, or as long as its owner."""

    snapshot: Snapshot
    images: Path  # what CRIU wrote
    mounts: Mapping[str, str]  # keys of CRIU, and what each shows: a path of this machine, "dev" or "hidden"
    bytes: int  # of memory, that the images take on this machine's disk
    disk: Path | None = None  # the container's own, where it has ended: one restored container takes it
    user: int = USER_ID  # of this machine, whose its processes are

    @property
    def is_whole(self) -> bool:
        """Whether it can be restored: nothing has begun with its disk."""
        return self.images.is_dir() and (self.disk is None or self.disk.exists())


class Container(Protocol):
    """A private root, process tree, loopback network and limits, around one program: its first process.

    When the first process ends, all others end with it. Raises SandboxFailure("container") when it is gone.
    """

    spec: ContainerSpec
    id: str

    @property
    def pid(self) -> int:
        """The first process, as this machine counts."""
        ...

    @property
    def home(self) -> str: ...

    @property
    def run_folder(self) -> str:
        """A folder inside for sockets of the first process; also in its environment, as TARS_JAX_RUN."""
        ...

    def host_path(self, path: str) -> Path:
        """The path at which this process sees a path of the inside. An agent can put symbolic links there that lead out
        for whoever follows them from here: use `read`, `open_folder` and `connect`, which follow none."""
        ...

    def open_folder(self, path: str) -> int:
        """A descriptor to read a folder of the inside. Raises OSError."""
        ...

    def read(self, path: str, limit: int = 1 << 20) -> bytes:
        """The beginning of a file of the inside. Raises OSError."""
        ...

    @property
    def readable_when_paused(self) -> bool:
        """Whether programs can be made to stand still, and all that `find` looks at is read then."""
        ...

    def find(self, seeking: Collection[Sought]) -> list[str]:
        """Absolute paths of the files that hold what is sought, in all places that programs inside can write to. None
        of them is asked, no link is followed. Raises OSError, Unreadable.
        """
        ...

    async def connect(self, path: str) -> socket.socket:
        """A connection to a unix socket of the inside, non-blocking. Raises OSError."""
        ...

    async def dial(self) -> socket.socket:
        """A connection to the socket that the first process was given, which no program inside can remove. Raises
        OSError.
        """
        ...

    async def wait(self, timeout_s: float | None = None) -> int | None:
        """The exit status of the first process, minus the signal's number if one ended it; None after `timeout_s`."""
        ...

    async def pause(self) -> None:
        """Stops all processes until `resume`: they take memory, and no processor. Twice is once."""
        ...

    async def resume(self) -> None: ...

    def memory_bytes(self) -> int | None:
        """Memory that the processes hold now, the pages of files that they read included; None where nobody counts."""
        ...

    def processes(self) -> list[Process]:
        """Processes that run inside besides the first one. No program inside is asked. May take some tenths of a
        second."""
        ...

    def ports(self) -> frozenset[int]:
        """The TCP ports that programs inside listen at; as `processes`."""
        ...

    async def snapshot(self, name: str) -> Snapshot:
        """A copy of the files as they are now; processes stop for that long. Raises SandboxFailure, and Broken for
        files that nobody copies.
        """
        ...

    async def checkpoint(self, name: str) -> Checkpoint:
        """Takes a checkpoint of its files and processes as they are now. Raises SandboxFailure where
        `Isolation.why_not_live` says why."""
        ...

    async def suspend(self, name: str) -> Checkpoint:
        """Like `checkpoint`; the container ends, its disk goes with the checkpoint, which can be restored once."""
        ...

    async def close(self) -> None:
        """Ends all processes, whatever they do about it, and removes what the container had. Twice is once."""
        ...


class Isolation(Protocol):
    """A kind of isolation, started. Nothing of it is left after `close`, nor after a kill of this process."""

    name: str
    guest_socket: tuple[str, ...]  # how a guest is told where the host meets it: its arguments
    socket_is_open: bool  # programs inside could go through it, too, so a guest asks for a token

    async def launch(
        self, spec: ContainerSpec, argv: Sequence[str], snapshot: Snapshot | None = None, *, listen: bool = False
    ) -> Container:  # fmt: skip
        """A container that runs a program, with the files of a snapshot if one is given.

        `listen`: the program is a guest that was told `guest_socket`, and that `Container.dial` connects to.
        Raises InputError when the program does not start, SandboxFailure("container") when the container does not.
        """
        ...

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        """Containers that were launched from it live on."""
        ...

    async def why_not_live(self) -> str:
        """The reason why live processes cannot be copied here; empty where they can."""
        ...

    async def restore(self, spec: ContainerSpec, checkpoint: Checkpoint) -> Container:
        """A container that goes on from a checkpoint of one that was launched with `listen`. Raises as `launch`."""
        ...

    async def remove_checkpoint(self, checkpoint: Checkpoint) -> None: ...

    async def close(self) -> None: ...
