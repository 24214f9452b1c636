"""Files of a computer. What cannot be is a GuestError that names the path and why."""

from __future__ import annotations

import builtins
import dataclasses
import json
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest_client import CALL_TIMEOUT_S, GuestError, GuestMachine

LARGEST_READ = 64 << 20  # bytes
LARGEST_EDIT = 8 << 20
TRIES = 20  # of an edit while others edit the same file


@dataclasses.dataclass(frozen=True)
class Entry:
    path: str  # of an entry of a folder: from the folder on
    kind: str  # file, folder, link, other
    size: int  # bytes
    mode: int  # permissions
    modified: float  # seconds since 1970
    version: str  # another one after each change

    @classmethod
    def of(cls, facts: dict[str, Any], path: str) -> Entry:
        return cls(path, facts["kind"], facts["size"], facts["mode"], facts["modified"], facts["version"])


@dataclasses.dataclass(frozen=True)
class Found:
    path: str  # from the folder on that was searched
    line: int = 0  # from 1 on; 0: found by name
    text: str = ""  # the line


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
    """Below `root`: paths are absolute or relative to it, and no link leads out.

    "/" is the root of a container, which closes its files in itself; where there is no isolation, name a folder.
    """

    def __init__(self, machine: GuestMachine, root: str = "/") -> None:
        self._machine, self.root = machine, root

    async def _call(self, call: str, data: bytes = b"", **arguments: Any) -> tuple[dict[str, Any], bytes]:
        return await self._machine.client.call(call, data, root=self.root, **arguments)

    async def stat(self, path: str) -> Entry:
        return Entry.of((await self._call("stat", path=path))[0], path)

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except GuestError as error:
            if error.code in ("ENOENT", "ENOTDIR"):
                return False
            raise
        return True

    async def list(self, path: str, depth: int = 1, limit: int = 10_000) -> tuple[builtins.list[Entry], bool]:
        """Entries in the order of their names, those of folders behind them; and whether these are all."""
        answer, _ = await self._call("list", path=path, depth=depth, limit=limit)
        return [Entry.of(each, each["path"]) for each in answer["entries"]], answer["whole"]

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

    async def write(self, path: str, data: bytes, *, new: bool = False, version: str | None = None) -> Entry:
        """Whole or not at all; in folders that are there.

        `new`: there must be no such file yet. `version`: it must be the one that an Entry was of.
        """
        if len(data) <= PIECE:
            return Entry.of((await self._call("write", data, path=path, new=new, version=version))[0], path)
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

    async def move(self, path: str, to: str) -> None:
        await self._call("move", path=path, to=to)

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

    async def search(
        self, path: str = ".", *, name: str = "", pattern: str = "", literal: bool = False, limit: int = 1000,
        timeout_s: float = 30.0,
    ) -> tuple[builtins.list[Found], bool]:  # fmt: skip
        """Files whose name matches a shell pattern, or their lines that a regular expression matches; whether all.

        Not all: there are more than `limit`, or the time was over. Raises GuestError for a pattern that is none.
        """
        try:
            re.compile(pattern.encode())
        except re.error as error:
            if not literal:
                raise GuestError(
                    "input", f"pattern must be a regular expression; got {pattern!r:.80}: {error}"
                ) from error
        arguments = json.dumps({"name": name, "pattern": pattern, "literal": literal, "limit": limit + 1})
        program = [self._machine.python, "-I", "-S", f"{self._machine.folder}/search.py", ".", arguments]
        ran = await self._machine.run(program, cwd=path, root=self.root, timeout_s=timeout_s, limit=2 << 20)
        if ran.status and not ran.timed_out:
            raise GuestError("EIO", f"{path}: it could not be searched: {ran.stderr.decode(errors='replace')[-200:]}")
        found = [Found(each["path"], each.get("line", 0), each.get("text", "")) for each in _objects(ran.stdout)]
        return found[:limit], len(found) <= limit and not ran.timed_out and not ran.stdout_cut

    async def watch(self, path: str = ".", *, deep: bool = True) -> Watch:
        """Changes from now on. Close it after use."""
        begun, _ = await self._call("watch", path=path, deep=deep)
        return Watch(self._machine, begun["watch"])


class Watch:
    """Changes below a folder: pairs of what happened (made, changed, written, came, gone) and where."""

    def __init__(self, machine: GuestMachine, number: int) -> None:
        self._machine, self._number = machine, number
        self.lost = False  # more has happened than was kept

    async def changes(self, timeout_s: float = 10.0) -> list[tuple[str, str]]:
        """Those since the last time, as soon as there are some; none after `timeout_s`."""
        answer, _ = await self._machine.client.call(
            "changes", watch=self._number, timeout_s=timeout_s, patience_s=timeout_s + CALL_TIMEOUT_S
        )
        self.lost = self.lost or answer["lost"]
        return [(kind, path) for kind, path in answer["changes"]]

    async def close(self) -> None:
        await self._machine.client.call("unwatch", watch=self._number)


def _objects(output: bytes) -> Sequence[dict[str, Any]]:
    """Lines that are whole: one in the middle may be cut."""
    objects = []
    for line in output.split(b"\n"):
        try:
            objects.append(json.loads(line))
        except ValueError:
            continue
    return [each for each in objects if isinstance(each, dict)]
