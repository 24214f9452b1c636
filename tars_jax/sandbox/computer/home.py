"""The files of a computer's home folder, put there before an agent begins and read from outside when it is judged.

The computer's own tar, which Windows has, too, unpacks them. Reading does not ask the guest, whose user the agent
shares: it walks the folder by descriptors, and follows no link.
"""

from __future__ import annotations

import dataclasses
import io
import os
import secrets
import tarfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tars_jax import InputError
from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest.identity import PATH
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.walking import Unreadable, walk
from tars_jax.sandbox.failures import SandboxFailure

MOST_FILES = 2000
MOST_BYTES = 16 << 20
UNPACK = ("tar", "x", "--no-same-owner", "-p", "-f", "-")  # from its input, in the folder that it runs in
UNPACKS_S = 60.0


@dataclasses.dataclass(frozen=True)
class File:
    """A regular file."""

    data: bytes
    executable: bool = False

    @property
    def text(self) -> str:
        """The file as text; bytes that are no UTF-8 become the replacement character."""
        return self.data.decode(errors="replace")


Tree: TypeAlias = Mapping[str, File]  # paths below the home folder, such as "box/a.txt"
Given: TypeAlias = Mapping[str, File | bytes | str]  # the same, as it may be given; texts are UTF-8


def packed(files: Given, folders: tuple[str, ...] = ()) -> bytes:
    """A tar archive of files and further folders. Raises InputError for what cannot lie below a folder."""
    for path in (*folders, *files):
        if not isinstance(path, str) or not path or path[0] == "/" or "\0" in path or ".." in path.split("/"):
            raise InputError(f"a path must lie below the home folder, as box/a.txt does; got {path!r}")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in folders:
            member = tarfile.TarInfo(path)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path, given in files.items():
            file = _file(path, given)
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(file.data), 0o755 if file.executable else 0o644
            tar.addfile(member, io.BytesIO(file.data))
    return archive.getvalue()


def _file(path: str, given: object) -> File:
    if isinstance(given, File):
        return given
    if not isinstance(given, bytes | str):
        raise InputError(f"the content of {path!r} must be a File, bytes or a str; got {type(given).__name__}")
    return File(given if isinstance(given, bytes) else given.encode(errors="surrogateescape"))


def read_home(folder: int | Path, leaving_out: Collection[str] = ()) -> tuple[dict[str, File], frozenset[str]]:
    """The regular files below a folder, and the folders. Links, sockets and devices are neither.

    `folder`: an open one, which is taken over, or one whose path nobody else can change. `leaving_out`: names in it
    that are not looked into, such as .cache. Raises Unreadable for more than MOST_FILES files or MOST_BYTES in all, and
    for what is closed to this reader; OSError where the folder itself cannot be read.
    """
    files: dict[str, File] = {}
    folders: set[str] = set()
    size = 0
    top = folder if isinstance(folder, int) else os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for path, opened in walk(top, leaving_out):
        if opened is None:
            folders.add(path)
        else:
            with open(opened, "rb") as file:
                files[path] = File(file.read(MOST_BYTES + 1), bool(os.fstat(opened).st_mode & 0o100))
            size += len(files[path].data)
        if len(files) + len(folders) > MOST_FILES or size > MOST_BYTES:
            raise Unreadable(f"more than {MOST_FILES} files or {MOST_BYTES} bytes")
    return files, frozenset(folders)


async def put(machine: GuestMachine, files: Given, folders: Sequence[str] = ()) -> None:
    """Raises InputError for a path that does not lie in the home folder, SandboxFailure."""
    done = await machine.run(UNPACK, packed(files, tuple(folders)), timeout_s=UNPACKS_S)
    require_put(done.status, done.stderr)


async def unpack(machine: GuestMachine, archive: bytes, folder: str) -> None:
    """A tar archive of any size, in a folder that is there. Raises SandboxFailure."""
    path_of_ours = {"PATH": PATH}  # whatever programs of the machine are told
    if len(archive) <= PIECE:
        done = await machine.run(UNPACK, archive, cwd=folder, env=path_of_ours, timeout_s=UNPACKS_S)
        require_put(done.status, done.stderr)
        return
    path = f"/tmp/.{secrets.token_hex(8)}.tar"
    try:
        for offset in range(0, len(archive), PIECE):
            piece = archive[offset : offset + PIECE]
            await machine.client.call("write", piece, root="/", path=path, offset=offset, mode=None)
        done = await machine.run([*UNPACK[:-1], path], cwd=folder, env=path_of_ours, timeout_s=UNPACKS_S * 10)
    finally:
        await machine.run(["rm", "-f", path], env=path_of_ours)
    require_put(done.status, done.stderr)


def require_put(status: int, stderr: bytes) -> None:
    """Checks that files were put into the computer. Raises SandboxFailure."""
    if status != 0:
        raise SandboxFailure("guest", f"the folder could not be filled: {stderr[:200]!r}")
