"""The files that a Dockerfile copies: found below its folder, packed as they are to lie in the computer."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.dockerfile import Dockerfile, DockerInstruction

MOST_BYTES = 1 << 30  # of one context
IGNORE = ".dockerignore"


def _entries(folder: Path) -> Iterator[tuple[str, Path]]:
    """All below a folder, in the order of their paths; links are not followed."""
    for top, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted((*files, *folders)):
            path = Path(top, name)
            yield path.relative_to(folder).as_posix(), path


def context_digest(folder: Path) -> str:
    """A digest that changes with every file, link or mode. Raises InputError for a context that is too large."""
    digest, size = hashlib.sha256(), 0
    for name, path in _entries(folder):
        status = path.lstat()
        digest.update(f"{name}\0{stat.S_IFMT(status.st_mode):o} {status.st_mode & 0o111:o}\0".encode())
        if path.is_symlink():
            digest.update(os.readlink(path).encode())
        elif path.is_file():
            size += status.st_size
            if size > MOST_BYTES:
                raise InputError(f"{folder.name} must have {MOST_BYTES >> 20} MiB of files at most; got more")
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def copied(
    folder: Path,
    instruction: DockerInstruction,
    sources: Sequence[str],
    target: str,
    into: bool,
    dockerfile: Dockerfile,
) -> bytes:
    """A tar archive, to be unpacked at the root, of what a COPY puts at `target` (absolute).

    `into`: the target is a folder, so that a single file keeps its name. What `.dockerignore` names is not there.
    Raises InputError with the Dockerfile's line for sources that are not there.
    """
    ignored = _ignored(folder)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        found = [
            (source, path) for source in sources for path in _matches(folder, source, ignored, instruction, dockerfile)
        ]
        many = len(found) + len(instruction.texts) > 1
        for _, path in found:
            if path.is_dir():
                _add(tar, path, target, instruction.mode, folder, ignored)
            else:
                place = posixpath.join(target, path.name) if into or many else target
                _add(tar, path, place, instruction.mode, folder, ignored)
        for name, content in instruction.texts:
            member = tarfile.TarInfo((posixpath.join(target, name) if into or many else target).lstrip("/"))
            member.size, member.mode = len(content.encode()), instruction.mode or 0o644
            tar.addfile(member, io.BytesIO(content.encode()))
    return buffer.getvalue()


def _matches(
    folder: Path, source: str, ignored: list[tuple[str, bool]], instruction: DockerInstruction, dockerfile: Dockerfile
) -> list[Path]:
    relative = posixpath.normpath(source.lstrip("/") or ".")
    if relative == ".":
        return [folder]
    if relative.split("/")[0] == "..":
        raise dockerfile.error(instruction.line, f"COPY must be of files below the task's folder; got {source!r}")
    wild = any(mark in relative for mark in "*?[")
    paths = sorted(folder.glob(relative)) if wild else [folder / relative]
    paths = [path for path in paths if os.path.lexists(path) and not _is_ignored(path, folder, ignored)]
    if not paths:
        raise dockerfile.error(instruction.line, f"COPY must name files that the task has; got {source!r}")
    root = folder.resolve()
    for path in paths:
        if not path.resolve().is_relative_to(root):
            raise dockerfile.error(instruction.line, f"COPY must not follow a link out of the folder; got {source!r}")
    return paths


def _add(
    tar: tarfile.TarFile, path: Path, place: str, mode: int | None, folder: Path, ignored: list[tuple[str, bool]]
) -> None:
    """A file (through a link, too), or a folder with all that is in it, whose links stay links."""
    top = path.resolve()
    entries = [("", top), *_entries(top)] if top.is_dir() else [("", top)]
    for name, each in entries:
        if name and _is_ignored(path / name, folder, ignored):
            continue
        status = each.lstat()
        member = tarfile.TarInfo(posixpath.join(place, name).strip("/") or ".")
        member.mtime, member.mode = int(status.st_mtime), status.st_mode & 0o777
        if each.is_symlink():
            member.type, member.linkname = tarfile.SYMTYPE, os.readlink(each)
            tar.addfile(member)
        elif each.is_dir():
            if name or member.name != ".":
                member.type = tarfile.DIRTYPE
                tar.addfile(member)
        elif each.is_file():
            member.size = status.st_size
            member.mode = member.mode if mode is None else mode
            with open(each, "rb") as file:
                tar.addfile(member, file)


def _ignored(folder: Path) -> list[tuple[str, bool]]:
    """Patterns of `.dockerignore`, and whether each takes back what was ignored before."""
    try:
        lines = (folder / IGNORE).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [(posixpath.normpath(each.lstrip("!").strip("/")), each.startswith("!")) for each in patterns]


def _is_ignored(path: Path, folder: Path, patterns: list[tuple[str, bool]]) -> bool:
    parts = path.relative_to(folder).as_posix().split("/")
    ignored = False
    for pattern, back in patterns:
        heads = ("/".join(parts[: count + 1]) for count in range(len(parts)))
        if any(_fits(head, pattern) for head in heads):
            ignored = not back
    return ignored


def _fits(path: str, pattern: str) -> bool:
    """As fnmatch, but that one star stays within a folder, and `**/` is any number of them."""
    if pattern.startswith("**/") and _fits(path.rpartition("/")[2], pattern[3:]):
        return True
    names, patterns = path.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatch.fnmatchcase, names, patterns))
