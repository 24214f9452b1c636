"""/v1/file: read, write, replace, list, search, find, edit, upload, download. Paths are absolute, or from home on."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, answer, answering, iso
from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.tools.arguments import ToolError
from tars_jax.sandbox.tools.editor import Editor
from tars_jax.sandbox.tools.files import LARGEST_EDIT, FileEntry, Files
from tars_jax.sandbox.tools.replacing import Which
from tars_jax.sandbox.tools.search import FileQuery, SearchResult
from tars_jax.web.forms import read_parts
from tars_jax.web.gate import read_fields
from tars_jax.web.protocol import RequestFields

MOST_FOUND, MOST_LISTED = 1000, 10_000
LARGEST_SEARCHED = 64 << 20  # bytes of a file; a client may say how many
EDITS = ("view", "create", "str_replace", "insert", "undo_edit")
REPLACE_MODES: dict[str, Which] = {"ALL": "all", "FIRST": "first", "LAST": "last"}
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class FileRoutes:
    def __init__(self, machine: GuestMachine) -> None:
        self._files = Files(machine)
        self._editor = Editor(self._files)

    def routes(self) -> list[Route]:
        posts = {
            "read": self.read, "write": self.write, "replace": self.replace, "search": self.search, "find": self.find,
            "grep": self.grep, "glob": self.glob, "upload": self.upload, "list": self.list,
            "str_replace_editor": self.edit,
        }  # fmt: skip
        routes = [Route(f"/v1/file/{path}", answering(work), methods=["POST"]) for path, work in posts.items()]
        return [*routes, Route("/v1/file/download", answering(self.download), methods=["GET"])]

    async def read(self, request: Request) -> Response:
        body = await read_fields(request)
        path = self._path(body, "file")
        first, end = body.integer("start_line", 0, 0, 1 << 40), body.integer("end_line", None, 0, 1 << 40)
        if end is not None and end <= (first or 0):
            return answer({"content": "", "file": path})
        lines = await self._files.lines(path, (first or 0) + 1, -1 if end is None else end, PIECE)
        if not lines.whole:
            raise Failed(413, f"{path} must be read by lines or downloaded: it has {lines.size:,} bytes")
        return answer({"content": lines.text, "file": path})

    async def write(self, request: Request) -> Response:
        body = await read_fields(request)
        path, encoding = self._path(body, "file"), body.text("encoding", "utf-8")
        if encoding == "base64":
            try:
                data = base64.b64decode(body.text("content"), validate=True)
            except (binascii.Error, ValueError) as error:
                raise body.error("content", "base64") from error
        elif encoding in ("utf-8", "raw"):
            before, after = body.flag("leading_newline"), body.flag("trailing_newline")
            data = b"\n" * before + body.text("content").encode() + b"\n" * after
        else:
            raise body.error("encoding", "utf-8, base64 or raw")
        if body.flag("append"):
            await self._files.make_folder(posixpath.dirname(path))
            await self._files.append(path, data)
        else:
            await self._files.write(path, data, folders=True)
        return answer({"file": path, "bytes_written": len(data)})

    async def replace(self, request: Request) -> Response:
        body = await read_fields(request)
        path = self._path(body, "file")
        _, replacement = await self._files.replace(
            path, body.text("old_str"), body.text("new_str"), "any", name="old_str"
        )  # fmt: skip
        return answer({"file": path, "replaced_count": replacement.count})

    async def search(self, request: Request) -> Response:
        body = await read_fields(request)
        path, regex = self._path(body, "file"), body.text("regex")
        if (await self._files.stat(path)).kind == "folder":
            raise Failed(400, f"file must be a file; {path} is a folder: grep searches folders")
        result = await self._search(path, FileQuery(pattern=regex, limit=MOST_FOUND))
        matches, numbers = [each.text for each in result.found], [each.line - 1 for each in result.found]
        return answer({"file": path, "matches": matches, "line_numbers": numbers})

    async def find(self, request: Request) -> Response:
        body = await read_fields(request)
        path, pattern = self._path(body, "path"), body.text("glob")
        pattern = pattern if "/" in pattern else f"**/{pattern}"
        result = await self._search(path, FileQuery(glob=pattern, limit=MOST_LISTED))
        return answer({"path": path, "files": [posixpath.join(path, each.path) for each in result.found]})

    async def grep(self, request: Request) -> Response:
        body = await read_fields(request)
        path, pattern = self._path(body, "path"), body.text("pattern")
        if body.value("type") is not None:
            raise body.error("type", "left out: name files by include")
        query = FileQuery(
            pattern=pattern, include=_texts(body, "include"), exclude=_texts(body, "exclude"),
            ignore_case=body.flag("case_insensitive"), literal=body.flag("fixed_strings"),
            before=body.integer("context_before", 0, 0, 100) or 0, after=body.integer("context_after", 0, 0, 100) or 0,
            limit=body.integer("max_results", MOST_FOUND, 1, MOST_LISTED) or 1, multiline=body.flag("multiline"),
            offset=body.integer("offset", 0, 0, 1 << 40) or 0, largest=_size(body, "max_file_size", LARGEST_SEARCHED),
            deep=body.flag("recursive", True),
        )  # fmt: skip
        result = await self._search(path, query)
        matches = [
            {
                "file": posixpath.join(result.folder, each.path), "line_number": each.line, "line_content": each.text,
                "context_before": each.before, "context_after": each.after,
            }
            for each in result.found
        ]  # fmt: skip
        counts = {
            "match_count": len(matches), "files_matched": len({each["file"] for each in matches}),
            "files_searched": result.searched,
        }  # fmt: skip
        return answer({"path": path, "pattern": pattern, "matches": matches, **counts, "truncated": not result.whole})

    async def glob(self, request: Request) -> Response:
        body = await read_fields(request)
        path, pattern = self._path(body, "path"), body.text("pattern")
        query = FileQuery(
            glob=pattern, exclude=_texts(body, "exclude"), hidden=body.flag("include_hidden"),
            files_only=body.flag("files_only", True),
            limit=body.integer("max_results", MOST_FOUND, 1, MOST_LISTED) or 1,
        )  # fmt: skip
        result = await self._search(path, query)
        facts = body.flag("include_metadata", True)
        files: list[dict[str, Any]] = [
            {
                "path": posixpath.join(path, each.path), "name": posixpath.basename(each.path), "size": each.size,
                "is_directory": each.kind == "folder", "modified_time": iso(each.modified),
            }
            for each in result.found
        ]  # fmt: skip
        key = _choice(body, "sort_by", ("path", "name", "size", "modified"), "path")
        files.sort(key=lambda each: each[f"{key}_time" if key == "modified" else key], reverse=body.flag("sort_desc"))
        shown = files if facts else [{**each, "size": None, "modified_time": None} for each in files]
        counts = {"total_count": len(files), "truncated": not result.whole}
        return answer({"path": path, "pattern": pattern, "files": shown, **counts})

    async def _search(self, path: str, query: FileQuery) -> SearchResult:
        result = await self._files.search(path, query)
        if result.missing in ("time", "output"):
            why = "took too long" if result.missing == "time" else "found too much"
            raise Failed(413, f"the search {why}: name a smaller folder or a narrower pattern")
        return result

    async def list(self, request: Request) -> Response:
        body = await read_fields(request)
        path, hidden = self._path(body, "path"), body.flag("show_hidden")
        depth = (body.integer("max_depth", 64, 1, 64) or 1) if body.flag("recursive") else 1
        kinds = _texts(body, "file_types")
        entries, _ = await self._files.list(path, depth, MOST_LISTED)
        shown = [
            each
            for each in entries
            if (hidden or not any(part.startswith(".") for part in each.path.split("/")))
            and (not kinds or each.kind == "folder" or posixpath.splitext(each.path)[1] in kinds)
        ]
        sort = _choice(body, "sort_by", ("name", "size", "modified", "type"), "name")
        keys = {"name": lambda x: x.path, "size": lambda x: x.size, "modified": lambda x: x.modified}
        shown.sort(key=keys.get(sort, lambda each: (each.kind != "folder", each.path)), reverse=body.flag("sort_desc"))
        sizes, modes = body.flag("include_size", True), body.flag("include_permissions")
        folders = len([each for each in shown if each.kind == "folder"])
        counts = {"total_count": len(shown), "directory_count": folders, "file_count": len(shown) - folders}
        return answer({"path": path, "files": [_entry(path, each, sizes, modes) for each in shown], **counts})

    async def upload(self, request: Request) -> Response:
        form = read_parts(request.headers.get("content-type", ""), await request.body())
        if "file" not in form:
            raise Failed(422, "file must be a field of the form")
        name = posixpath.basename(form["file"].filename) or "upload"
        path = form["path"].data.decode(errors="replace") if "path" in form else f"/tmp/{name}"
        path, data = self._files.absolute(path), form["file"].data
        await self._files.write(path, data, folders=True)
        return answer({"file_path": path, "file_size": len(data), "success": True})

    async def download(self, request: Request) -> Response:
        data = await self._files.read(request.query_params.get("path", ""))
        # A page that somebody opens here must not run as one of this server's.
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def edit(self, request: Request) -> Response:
        body = await read_fields(request)
        command, path = _choice(body, "command", EDITS), self._path(body, "path")
        before = await self._text(path)
        try:
            output = await self._edited(command, path, body)
        except ToolError as refused:
            texts = {"old_content": before, "new_content": before, "metadata": None}
            return answer(
                {"output": "", "error": str(refused), "path": path, "prev_exist": before is not None, **texts}
            )
        texts = {"old_content": before, "new_content": None if command == "view" else await self._text(path)}
        known = {"path": path, "prev_exist": before is not None, "metadata": None}
        return answer({"output": output, "error": None, **known, **texts})

    async def _edited(self, command: str, path: str, body: RequestFields) -> str:
        if command == "view":
            lines = body.array("view_range")
            if lines and (len(lines) != 2 or not all(type(each) is int for each in lines)):
                raise body.error("view_range", "two line numbers")
            return await self._editor.view(path, lines or None)
        if command == "create":
            return await self._editor.create(path, body.text("file_text"), replace=True)
        if command == "insert":
            line = body.integer("insert_line", None, 0, 1 << 40)
            if line is None:
                raise body.error("insert_line", "a whole number")
            return await self._editor.insert(path, line, body.text("new_str"))
        if command == "undo_edit":
            return await self._editor.undo_edit(path)
        old, new = body.text("old_str"), body.text("new_str", "")
        which: Which = "one"
        if body.value("replace_mode") is not None:
            which = REPLACE_MODES[_choice(body, "replace_mode", tuple(REPLACE_MODES))]
        return await self._editor.str_replace(path, old, new, which)

    async def _text(self, path: str) -> str | None:
        """None for what is no text file of an ordinary size."""
        if not await self._files.exists(path):
            return None
        found = await self._files.stat(path)
        if found.kind != "file" or found.size > LARGEST_EDIT:
            return None
        return (await self._files.read(path)).decode(errors="replace")

    def _path(self, body: RequestFields, name: str) -> str:
        return self._files.absolute(body.text(name))


def _texts(body: RequestFields, name: str) -> list[str]:
    values = body.array(name)
    if not all(isinstance(each, str) for each in values):
        raise body.error(name, "an array of texts")
    return values


def _size(body: RequestFields, name: str, default: int) -> int:
    """Bytes; 0 where there is no limit."""
    text = body.optional_text(name, 40)
    if text is None:
        return default
    if not (match := re.fullmatch(r"(\d+)([KMG]?)B?", text.strip().upper())):
        raise body.error(name, "a size as 500K or 1M")
    return int(match[1]) * UNITS[match[2]]


def _choice(body: RequestFields, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
    value = body.text(name, default)
    if value not in choices:
        raise body.error(name, f"one of {', '.join(choices)}")
    return value


def _entry(folder: str, entry: FileEntry, sizes: bool, modes: bool) -> dict[str, Any]:
    return {
        "name": posixpath.basename(entry.path), "path": posixpath.join(folder, entry.path),
        "is_directory": entry.kind == "folder", "size": entry.size if sizes and entry.kind != "folder" else None,
        "modified_time": iso(entry.modified), "permissions": f"{entry.mode:03o}" if modes else None,
        "extension": posixpath.splitext(entry.path)[1] or None,
    }  # fmt: skip
