"""Files and folders between this machine and a computer.

In, by the computer's own tar, as its own user. Out, read from outside: no program inside is asked, no link is followed,
and there are bounds, since an agent or its verifier may have left anything there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import stat
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.walking import Unreadable, walk

MOST_BYTES = 4 << 30  # that are taken out of a computer at once
MOST_FILES = 200_000
UNPACK = ("/bin/sh", "-c", 'exec /bin/tar -x --no-same-owner -p -f - -C "$1" 2>&1', "sh")
UNPACKS_S = 3600.0
_CHUNK = 1 << 20


async def put_file(computer: Computer, source: Path, target: str) -> None:
    """Copies a file with its mode; into a folder where the target is one. Folders above it are made.

    Raises InputError for a source that is none and a target that cannot be written, SandboxFailure.
    """
    if not source.is_file():
        raise InputError(f"source of a copy must be a file; got {source}")
    if target.endswith("/") or await _kind(computer, target) == "folder":
        target = posixpath.join(target, source.name)
    folder, name = posixpath.split(posixpath.normpath(target))
    await _unpack(computer, folder or "/", lambda tar: tar.add(source.resolve(), name, filter=_plain))


async def put_folder(computer: Computer, source: Path, target: str) -> None:
    """Copies what is in a folder into another one, which is made where it is not there; links stay links.

    Raises as `put_file`.
    """
    if not source.is_dir():
        raise InputError(f"source of a copy must be a folder; got {source}")

    def pack(tar: tarfile.TarFile) -> None:
        for child in sorted(source.iterdir()):
            tar.add(child, child.name, filter=_plain)

    await _unpack(computer, target, pack)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Nobody's in particular; devices, pipes and sockets are left out."""
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


async def _kind(computer: Computer, path: str) -> str:
    """file, folder, ...; empty where nothing is."""
    try:
        return str((await computer.machine.client.call("stat", path=path))[0]["kind"])
    except GuestError:
        return ""


async def _unpack(computer: Computer, folder: str, pack: Callable[[tarfile.TarFile], None]) -> None:
    machine = computer.machine
    with tempfile.TemporaryFile() as archive:
        await asyncio.to_thread(_write_archive, archive, pack)
        await machine.client.call("make_folder", path=folder)
        process, (reader, writer) = await machine.pipe([*UNPACK, folder], cwd="/")
        try:
            said = ""
            try:
                while chunk := await asyncio.to_thread(archive.read, _CHUNK):
                    writer.write(chunk)
                    await writer.drain()
                writer.write_eof()
            except OSError as error:  # tar has ended, and said why, or the computer has
                said = str(error)
            said = (await reader.read(_CHUNK)).decode(errors="replace").strip() or said
            status = await machine.wait(process, UNPACKS_S)
        except BaseException:
            await asyncio.shield(machine.kill(process))
            raise
        finally:
            writer.close()
    if status != 0:
        raise InputError(f"{folder} in the computer must be a folder that takes these files; tar said: {said[-500:]}")


def _write_archive(archive: IO[bytes], pack: Callable[[tarfile.TarFile], None]) -> None:
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        pack(tar)
    archive.seek(0)


async def take_file(computer: Computer, source: str, target: Path) -> None:
    """Copies a regular file out. Raises InputError where none is there, or one of more than MOST_BYTES."""
    source = await _real(computer, source)
    await asyncio.to_thread(_take_file, computer, source, target)


async def take_folder(
    computer: Computer, source: str, target: Path, wants: Callable[[str], bool] = lambda path: True
) -> None:  # fmt: skip
    """Copies the files and folders below a folder out, over what is there. Links, pipes and the like stay behind.

    `wants`: says by its path below the folder whether a file or a folder comes along. Raises InputError for a folder
    that is not there, or holds more than MOST_FILES or MOST_BYTES.
    """
    source = await _real(computer, source)
    await asyncio.to_thread(_take_folder, computer, source, target, wants)


async def list_files(computer: Computer, source: str) -> list[str]:
    """Paths of the files below a folder, as `take_folder` finds them. Raises as it."""
    found: list[str] = []

    def note(path: str) -> bool:
        found.append(path)
        return False

    source = await _real(computer, source)
    await asyncio.to_thread(_take_folder, computer, source, None, note)
    return found


async def _real(computer: Computer, path: str) -> str:
    """A path without links, as far as it is there: those who read from outside follow none."""
    try:
        done = await computer.machine.run(["/usr/bin/realpath", "-m", "-z", "--", path], cwd="/", timeout_s=30.0)
    except GuestError:  # an agent may have removed it
        return posixpath.normpath(path)
    return os.fsdecode(done.stdout.removesuffix(b"\0")) if done.status == 0 else posixpath.normpath(path)


def _take_file(computer: Computer, source: str, target: Path) -> None:
    folder, name = posixpath.split(source)
    try:
        opened = computer.container.open_folder(folder)
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=opened)
        finally:
            os.close(opened)
    except OSError as error:
        raise InputError(f"{source} in the computer must be a file; got {error.strerror or error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{source} in the computer must be a file; got another kind of thing")
    with open(descriptor, "rb") as file:
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(file, target, MOST_BYTES, source)


def _take_folder(computer: Computer, source: str, target: Path | None, wants: Callable[[str], bool]) -> None:
    """Without a target only files are asked about."""
    try:
        top = computer.container.open_folder(source)
    except OSError as error:
        raise InputError(f"{source} in the computer must be a folder; got {error.strerror or error}") from error
    if target is not None:
        target.mkdir(parents=True, exist_ok=True)
    count, rest = 0, MOST_BYTES
    try:
        for path, opened in walk(top):
            count += 1
            with contextlib.ExitStack() as closing:
                file = closing.enter_context(open(opened, "rb")) if opened is not None else None
                if count > MOST_FILES:
                    raise InputError(f"{source} in the computer must hold {MOST_FILES} files at most; got more")
                if (file is None and target is None) or not wants(path) or target is None:
                    continue
                if file is None:
                    (target / path).mkdir(parents=True, exist_ok=True)
                else:
                    (target / path).parent.mkdir(parents=True, exist_ok=True)
                    rest -= _copy(file, target / path, rest, source)
    except Unreadable as error:
        raise InputError(f"{source} in the computer must be a folder that can be read; got {error}") from error
    except OSError as error:
        raise InputError(f"{target} must take what is in {source} of the computer; got {error}") from error


def _copy(file: IO[bytes], target: Path, most: int, source: str) -> int:
    """As many bytes as the file has now, however it grows meanwhile; their number."""
    found = os.fstat(file.fileno())
    if found.st_size > most:
        raise InputError(f"{source} in the computer must hold {MOST_BYTES >> 30} GiB at most; got more")
    target.unlink(missing_ok=True)
    rest = found.st_size
    with open(target, "xb") as copy:
        while rest and (chunk := file.read(min(rest, _CHUNK))):
            copy.write(chunk)
            rest -= len(chunk)
    target.chmod(0o755 if found.st_mode & 0o100 else 0o644)
    return found.st_size
