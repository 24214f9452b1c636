"""Files of a computer. What cannot be is a GuestError that names the path and why."""

from __future__ import annotations

import builtins
import dataclasses
import posixpath
import re
import secrets
from collections.abc import Callable
from typing import Any

from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest_client import CALL_TIMEOUT_S, GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.tools.arguments import ToolError
from tars_jax.sandbox.tools.replacing import Replacement, Which, replace
from tars_jax.sandbox.tools.search import MOST_OUTPUT, FileQuery, SearchResult, check_pattern, command, read_result

LARGEST_READ = 64 << 20  # bytes
LARGEST_EDIT = 8 << 20
APPEND = ("sh", "-c", 'exec cat >>"$1"', "sh")
WINDOWS = re.compile(r"[A-Za-z]:[\\/]")  # an absolute path begins so there
TRIES = 20  # of an edit while others edit the same file


@dataclasses.dataclass(frozen=True)
class FileEntry:
    path: str  # absolute; of an entry of a folder: from the folder on
    kind: str  # file, folder, link, other
    size: int  # bytes
    mode: int  # permissions
    modified: float  # seconds since 1970
    version: str  # another one after each change

    @classmethod
    def of(cls, facts: dict[str, Any], path: str) -> FileEntry:
        return cls(path, facts["kind"], facts["size"], facts["mode"], facts["modified"], facts["version"])


@dataclasses.dataclass(frozen=True)
class Lines:
    text: str  # of the lines that were asked for
    lines: int  # of the whole file
    whole: bool  # nothing is missing at the end of the text
    size: int  # of the whole file, bytes


@dataclasses.dataclass(frozen=True)
class Edit:
    before: str  # the whole file
    after: str


class Files:
    """Below `root`, and no link leads out. "/" is the root of a container, which closes its files in itself.

    Paths are absolute, or begin at the home folder.
    """

    def __init__(self, machine: GuestMachine, root: str = "/") -> None:
        self._machine, self.root = machine, root

    def absolute(self, path: str) -> str:
        """Raises GuestError for what is no path."""
        if not path or "\0" in path:
            raise GuestError("input", f"path must be one of a file or a folder; got {path!r:.200}")
        return path if WINDOWS.match(path) else posixpath.join(self._machine.home, path)

    async def _call(self, call: str, data: bytes = b"", **arguments: Any) -> tuple[dict[str, Any], bytes]:
        paths: dict[str, Any] = {name: self.absolute(arguments[name]) for name in ("path", "to") if name in arguments}
        return await self._machine.client.call(call, data, root=self.root, **(arguments | paths))

    async def stat(self, path: str) -> FileEntry:
        return FileEntry.of((await self._call("stat", path=path))[0], self.absolute(path))

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except GuestError as error:
            if error.code in ("ENOENT", "ENOTDIR"):
                return False
            raise
        return True

    async def list(self, path: str, depth: int = 1, limit: int = 10_000) -> tuple[builtins.list[FileEntry], bool]:
        """Entries in the order of their names, those of folders behind them; and whether these are all."""
        answer, _ = await self._call("list", path=path, depth=depth, limit=limit)
        return [FileEntry.of(each, each["path"]) for each in answer["entries"]], answer["whole"]

    async def read(self, path: str, offset: int = 0, limit: int = LARGEST_READ) -> bytes:
        """Raises GuestError("EFBIG") for a whole file of more than LARGEST_READ: read it by pieces."""
        if not offset and limit == LARGEST_READ and (size := (await self.stat(path)).size) > limit:
            raise GuestError("EFBIG", f"{path}: it has {size:,} bytes, more than {limit:,}: read it by pieces")
        data = bytearray()
        while len(data) < limit:
            _, piece = await self._call(
                "read", path=path, offset=offset + len(data), limit=min(PIECE, limit - len(data))
            )
            if not piece:
                break
            data += piece
        return bytes(data)

    async def lines(self, path: str, first: int = 1, last: int = -1, limit: int = 1 << 20) -> Lines:
        """Lines from `first` to `last`, from 1 on (-1: the last), of a file of any size; at most `limit` bytes."""
        answer, data = await self._call("lines", path=path, first=first, last=last, limit=limit)
        return Lines(data.decode(errors="replace"), answer["lines"], answer["whole"], answer["size"])

    async def write(
        self, path: str, data: bytes, *, new: bool = False, version: str | None = None, folders: bool = False
    ) -> FileEntry:  # fmt: skip
        """Whole or not at all.

        Args:
          new: there must be no such file yet.
          version: the file must be the one that a FileEntry with this version was of.
          folders: those above it are made; otherwise they must be there.
        """
        if folders:
            await self.make_folder(posixpath.dirname(self.absolute(path)))
        if len(data) <= PIECE:
            answer, _ = await self._call("write", data, path=path, new=new, version=version)
            return FileEntry.of(answer, self.absolute(path))
        mode = None
        if await self.exists(path):
            if new:
                raise GuestError("EEXIST", f"{path}: there is one already")
            mode = (await self.stat(path)).mode
        folder, slash, name = path.rpartition("/")
        beside = f"{folder}{slash}.{name[:100]}.{secrets.token_hex(4)}.partial"
        try:
            for offset in range(0, len(data), PIECE):
                await self._call("write", data[offset : offset + PIECE], path=beside, offset=offset, mode=mode)
            await self._call("move", path=beside, to=path)
        except BaseException:
            await self._call("remove", path=beside)
            raise
        return await self.stat(path)

    async def make_folder(self, path: str) -> None:
        """With those above it; one that is there is fine."""
        await self._call("make_folder", path=path)

    async def remove(self, path: str, *, all: bool = False) -> None:
        """`all`: a folder with what is in it."""
        await self._call("remove", path=path, all=all)

    async def move(self, path: str, to: str, *, replace: bool = True) -> None:
        """`replace`: what is at the other place gives way, as far as rename(2) does that."""
        if not replace and await self.exists(to):
            raise GuestError("EEXIST", f"{to}: there is one already")
        await self._call("move", path=path, to=to)

    async def append(self, path: str, data: bytes) -> None:
        """To the end of a file, which is made where there is none."""
        place = self.absolute(path)
        for start in range(0, max(len(data), 1), PIECE):
            ran = await self._machine.run([*APPEND, place], data[start : start + PIECE])
            if ran.status:
                said = ran.stderr.decode(errors="replace")
                raise GuestError("input", f"path must be a file that can be written; got {said:.300}")

    async def edit(self, path: str, change: Callable[[str], str]) -> Edit:
        """Replaces a text file by `change(text)`; of two edits at once, the second sees what the first has made.

        `change` may raise; the file is then as it was. Line ends are kept as they are. Raises GuestError for a file
        that is no text, or of more than LARGEST_EDIT bytes.
        """
        for _ in range(TRIES):
            entry = await self.stat(path)
            if entry.kind == "folder":
                raise GuestError("EISDIR", f"{path}: it is a folder")
            if entry.size > LARGEST_EDIT:
                raise GuestError("EFBIG", f"{path}: it has {entry.size:,} bytes, too many to be edited at once")
            try:
                before = (await self.read(path)).decode()
            except UnicodeDecodeError as error:
                raise GuestError("EILSEQ", f"{path}: it is no UTF-8 text") from error
            after = change(before)
            try:
                data = after.encode()
            except UnicodeEncodeError as error:
                raise GuestError("input", f"the text of {path} must have a UTF-8 form") from error
            try:
                await self.write(path, data, version=entry.version)
            except GuestError as error:
                if error.code != "EBUSY":
                    raise
            else:
                return Edit(before, after)
        raise GuestError("EBUSY", f"{path}: it changes all the time")

    async def replace(
        self, path: str, old: str, new: str, which: Which = "one", *, name: str = "old"
    ) -> tuple[Edit, Replacement]:  # fmt: skip
        """Puts text in place of text, by `edit`. `which` of the places where it stands: see replacing.py.

        Raises ToolError, which calls the old text by `name`, where it does not stand there so often; GuestError.
        """
        if not old:
            raise ToolError(f"{name} must be text of one character or more; got none")
        made: list[Replacement] = []

        def change(text: str) -> str:
            made.append(replace(text, old, new, which, f"{name} must be in {path}"))
            return made[-1].text

        return await self.edit(path, change), made[-1]

    async def search(self, path: str, query: FileQuery, *, timeout_s: float = 30.0) -> SearchResult:
        """Searches below a folder, or in one file. Raises GuestError, also for a pattern that is none."""
        check_pattern(query)
        folder, only = self.absolute(path), ""
        if (await self.stat(folder)).kind != "folder":
            folder, only = posixpath.split(folder)
        program = command(self._machine, query, only)
        ran = await self._machine.run(
            program, cwd=folder, root=self.root, timeout_s=timeout_s, limit=MOST_OUTPUT
        )  # fmt: skip
        return read_result(ran, folder)

    async def watch(self, path: str = ".", *, deep: bool = True) -> FolderWatch:
        """Changes from now on. Close it after use."""
        begun, _ = await self._call("watch", path=path, deep=deep)
        return FolderWatch(self._machine, begun["watch"])


class FolderWatch:
    """Changes below a folder: pairs of what happened (made, changed, written, came, gone) and where."""

    def __init__(self, machine: GuestMachine, number: int) -> None:
        self._machine, self._number = machine, number
        self.lost = False  # more has happened than was kept

    async def changes(self, timeout_s: float = 10.0) -> list[tuple[str, str]]:
        """Changes since the last call, as soon as there are some; none after `timeout_s`."""
        answer, _ = await self._machine.client.call(
            "changes", watch=self._number, timeout_s=timeout_s, patience_s=timeout_s + CALL_TIMEOUT_S
        )
        self.lost = self.lost or answer["lost"]
        return [(kind, path) for kind, path in answer["changes"]]

    async def close(self) -> None:
        await self._machine.client.call("unwatch", watch=self._number)
