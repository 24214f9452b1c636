"""Files as functions that an agent calls: read, write, list, search, move, remove."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.shell.text import cut
from tars_jax.sandbox.tools.arguments import Arguments, ToolError, function
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.forms import LIMIT, ToolResult
from tars_jax.sandbox.tools.search import FileQuery

LONGEST_READ = 1 << 20  # bytes of one call
MOST_ENTRIES = 1000

_TEXT = {"type": "string"}
_ENCODING = {"type": "string", "enum": ["text", "base64"], "description": "text (UTF-8) unless base64 is asked for"}


FILE_FUNCTIONS = {
    each.name: each
    for each in (
        function(
            "read_file",
            f"Reads a file, or {LONGEST_READ >> 20} MiB of it from an offset on.",
            ("path",),
            path=_TEXT,
            offset={"type": "integer", "minimum": 0, "description": "bytes"},
            limit={"type": "integer", "minimum": 1, "maximum": LONGEST_READ, "description": "bytes"},
            encoding=_ENCODING,
        ),
        function(
            "write_file",
            "Writes a file, whole or not at all, with the folders above it; one that is there is replaced.",
            ("path", "content"),
            path=_TEXT,
            content=_TEXT,
            encoding=_ENCODING,
        ),
        function(
            "list_files",
            "Lists a folder: kind, bytes and path of each entry.",
            ("path",),
            path=_TEXT,
            depth={"type": "integer", "minimum": 1, "maximum": 16, "description": "levels; 1 unless given"},
        ),
        function(
            "search_files",
            "Finds files below a folder by a shell pattern of their names, and lines of files by a regular expression.",
            ("path",),
            path=_TEXT,
            name={"type": "string", "description": "as *.py"},
            pattern=_TEXT,
        ),
        function("move_file", "Moves or renames a file or a folder.", ("path", "to"), path=_TEXT, to=_TEXT),
        function("make_folder", "Makes a folder, and those above it.", ("path",), path=_TEXT),
        function(
            "remove_file",
            "Removes a file or an empty folder; with `all`, a folder and what is in it.",
            ("path",),
            path=_TEXT,
            all={"type": "boolean"},
        ),
    )
}


class FileForms:
    def __init__(self, files: Files) -> None:
        self._files = files

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolResult:
        """Raises SandboxFailure and nothing else."""
        try:
            arguments = Arguments(given, list(FILE_FUNCTIONS[name].parameters["properties"]))
            path = self._files.absolute(arguments.text("path"))
            if name == "read_file":
                return await self._read(path, arguments)
            if name == "write_file":
                return await self._write(path, arguments)
            if name == "list_files":
                return await self._list(path, arguments)
            if name == "search_files":
                return await self._search(path, arguments)
            if name == "move_file":
                await self._files.move(path, to := self._files.absolute(arguments.text("to")))
                return ToolResult(f"{path} is now {to}")
            if name == "make_folder":
                await self._files.make_folder(path)
                return ToolResult(f"{path} is a folder")
            await self._files.remove(path, all=arguments.flag("all"))
            return ToolResult(f"{path} was removed")
        except InputError as error:
            return ToolResult(str(error), failed=True)

    async def _read(self, path: str, arguments: Arguments) -> ToolResult:
        limit = arguments.whole("limit") if arguments.number("limit", -1) != -1 else LONGEST_READ
        offset = int(arguments.number("offset", 0))
        if not 1 <= limit <= LONGEST_READ or offset < 0:
            raise ToolError(f"offset and limit must be 0 or more, and 1 to {LONGEST_READ}; got {offset} and {limit}")
        data = await self._files.read(path, offset, limit)
        if _is_base64(arguments):
            return ToolResult(base64.b64encode(data).decode())
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            if error.start < len(data) - 3 and not offset:
                raise ToolError(f"{path} is no text: read it with encoding base64") from error
            text = data.decode(errors="replace")
        return ToolResult(text)

    async def _write(self, path: str, arguments: Arguments) -> ToolResult:
        content = arguments.text("content")
        try:
            data = base64.b64decode(content, validate=True) if _is_base64(arguments) else content.encode()
        except (binascii.Error, UnicodeEncodeError, ValueError) as error:
            raise ToolError(f"content must be what encoding says; got {error}") from error
        await self._files.write(path, data, folders=True)
        return ToolResult(f"{path} was written: {len(data):,} bytes")

    async def _list(self, path: str, arguments: Arguments) -> ToolResult:
        depth = min(max(int(arguments.number("depth", 1)), 1), 16)
        entries, whole = await self._files.list(path, depth, MOST_ENTRIES)
        lines = [f"{each.kind}\t{each.size}\t{each.path}" for each in entries]
        return ToolResult("\n".join(lines + ([] if whole else ["[... and more ...]"])) or "[an empty folder]")

    async def _search(self, path: str, arguments: Arguments) -> ToolResult:
        name, pattern = arguments.text("name", ""), arguments.text("pattern", "")
        if not name and not pattern:
            raise ToolError("name or pattern must be given; got neither")
        result = await self._files.search(path, FileQuery(name=name, pattern=pattern, limit=MOST_ENTRIES))
        lines = [f"{each.path}:{each.line}: {each.text}" if each.line else each.path for each in result.found]
        return ToolResult(
            cut("\n".join(lines + ([] if result.whole else ["[... and more ...]"])), LIMIT) or "nothing was found"
        )


def _is_base64(arguments: Arguments) -> bool:
    return arguments.text("encoding", "") != "" and arguments.one_of("encoding", ("text", "base64")) == "base64"
