"""/v1/file: read, write, replace, list, search, find, edit, upload, download. Paths are absolute, or from home on."""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, answer, answering, iso
from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.tools.editor import Editor, Refused
from tars_jax.sandbox.tools.files import LARGEST_EDIT, Entry, Files
from tars_jax.sandbox.tools.replacing import places, replaced
from tars_jax.web.forms import read_parts
from tars_jax.web.gate import read_fields
from tars_jax.web.protocol import Fields

FIND = Path(__file__).with_name("find.py").read_text()
FIND_S = 30.0
MOST_FOUND, MOST_LISTED = 1000, 10_000
EDITS = ("view", "create", "str_replace", "insert", "undo_edit")
APPEND = ["sh", "-c", 'exec cat >>"$1"', "sh"]


class FileRoutes:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine, self._files = machine, Files(machine)
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
        await self._files.make_folder(posixpath.dirname(path))
        if body.flag("append"):
            await self._append(path, data)
        else:
            await self._files.write(path, data)
        return answer({"file": path, "bytes_written": len(data)})

    async def _append(self, path: str, data: bytes) -> None:
        if not await self._files.exists(path):
            await self._files.write(path, b"")
        for start in range(0, len(data), PIECE):
            ran = await self._machine.run([*APPEND, path], data[start : start + PIECE])
            if ran.status:
                raise Failed(
                    400, f"file must be one that can be written; got {ran.stderr.decode(errors='replace'):.300}"
                )

    async def replace(self, request: Request) -> Response:
        body = await read_fields(request)
        path, old, new = self._path(body, "file"), body.text("old_str"), body.text("new_str")
        if not old:
            raise body.error("old_str", "text of one character or more")
        edit = await self._files.edit(path, lambda text: replaced(text, old, new))
        return answer({"file": path, "replaced_count": len(places(edit.before, old)[0])})

    async def search(self, request: Request) -> Response:
        body = await read_fields(request)
        path, regex = self._path(body, "file"), body.text("regex")
        if (await self._files.stat(path)).kind == "folder":
            raise Failed(400, f"file must be a file; {path} is a folder: grep searches folders")
        found, _ = await self._find(kind="grep", path=path, pattern=regex, limit=MOST_FOUND)
        matches, numbers = [each["line_content"] for each in found], [each["line_number"] - 1 for each in found]
        return answer({"file": path, "matches": matches, "line_numbers": numbers})

    async def find(self, request: Request) -> Response:
        body = await read_fields(request)
        path, pattern = self._path(body, "path"), body.text("glob")
        pattern = pattern if "/" in pattern else f"**/{pattern}"
        found, _ = await self._find(
            kind="glob", path=path, pattern=pattern, hidden=True, files_only=False, limit=MOST_LISTED
        )
        return answer({"path": path, "files": [each["path"] for each in found]})

    async def grep(self, request: Request) -> Response:
        body = await read_fields(request)
        path, pattern = self._path(body, "path"), body.text("pattern")
        if body.value("type") is not None:
            raise body.error("type", "left out: name files by include")
        found, end = await self._find(
            kind="grep", path=path, pattern=pattern, include=_texts(body, "include"), exclude=_texts(body, "exclude"),
            ignore_case=body.flag("case_insensitive"), fixed=body.flag("fixed_strings"),
            before=body.integer("context_before", 0, 0, 100), after=body.integer("context_after", 0, 0, 100),
            limit=body.integer("max_results", MOST_FOUND, 1, MOST_LISTED), multiline=body.flag("multiline"),
            offset=body.integer("offset", 0, 0, 1 << 40), max_file_size=body.optional_text("max_file_size", 40),
            recursive=body.flag("recursive", True),
        )  # fmt: skip
        files = len({each["file"] for each in found})
        counts = {"match_count": len(found), "files_matched": files, "files_searched": end["searched"]}
        return answer({"path": path, "pattern": pattern, "matches": found, **counts, "truncated": end["more"]})

    async def glob(self, request: Request) -> Response:
        body = await read_fields(request)
        path, pattern = self._path(body, "path"), body.text("pattern")
        found, end = await self._find(
            kind="glob", path=path, pattern=pattern, exclude=_texts(body, "exclude"),
            hidden=body.flag("include_hidden"), files_only=body.flag("files_only", True),
            limit=body.integer("max_results", MOST_FOUND, 1, MOST_LISTED),
        )  # fmt: skip
        key = _choice(body, "sort_by", ("path", "name", "size", "modified"), "path")
        found.sort(key=lambda each: each[key], reverse=body.flag("sort_desc"))
        facts = body.flag("include_metadata", True)
        files = [
            {
                "path": each["path"], "name": each["name"], "is_directory": each["is_directory"],
                "size": each["size"] if facts else None, "modified_time": iso(each["modified"]) if facts else None,
            }
            for each in found
        ]  # fmt: skip
        return answer(
            {"path": path, "pattern": pattern, "files": files, "total_count": len(files), "truncated": end["more"]}
        )

    async def _find(self, **given: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """What the program found, and its last line."""
        program = [self._machine.python, "-I", "-S", "-c", FIND, json.dumps(given)]
        ran = await self._machine.run(program, timeout_s=FIND_S, limit=2 << 20)
        lines = [json.loads(line) for line in ran.stdout.splitlines() if line.endswith(b"}") and not ran.stdout_cut]
        if ran.timed_out or ran.stdout_cut or not lines:
            why = f"took more than {FIND_S:g} s" if ran.timed_out else "found too much, or failed"
            raise Failed(413, f"the search {why}: name a smaller folder or a narrower pattern")
        if error := lines[-1].get("error"):
            raise Failed(404 if "No such file" in error else 400, error)
        return lines[:-1], lines[-1]

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
        path = posixpath.join(self._machine.home, path)
        data = form["file"].data
        await self._files.make_folder(posixpath.dirname(path))
        await self._files.write(path, data)
        return answer({"file_path": path, "file_size": len(data), "success": True})

    async def download(self, request: Request) -> Response:
        path = posixpath.join(self._machine.home, request.query_params.get("path", ""))
        data = await self._files.read(path)
        # A page that somebody opens here must not run as one of this server's.
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def edit(self, request: Request) -> Response:
        body = await read_fields(request)
        command, path = _choice(body, "command", EDITS), self._path(body, "path")
        before = await self._text(path)
        try:
            output = await self._edited(command, path, body)
        except Refused as refused:
            texts = {"old_content": before, "new_content": before, "metadata": None}
            return answer(
                {"output": "", "error": str(refused), "path": path, "prev_exist": before is not None, **texts}
            )
        texts = {"old_content": before, "new_content": None if command == "view" else await self._text(path)}
        known = {"path": path, "prev_exist": before is not None, "metadata": None}
        return answer({"output": output, "error": None, **known, **texts})

    async def _edited(self, command: str, path: str, body: Fields) -> str:
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
        old, new, mode = body.text("old_str"), body.text("new_str", ""), body.optional_text("replace_mode")
        if mode is None:
            return await self._editor.str_replace(path, old, new)
        which = slice(-1, None) if mode == "LAST" else slice(1 if mode == "FIRST" else None)
        _choice(body, "replace_mode", ("ALL", "FIRST", "LAST"))

        def some(found: Sequence[int]) -> Sequence[int]:
            if not found:
                raise Refused(f"old_str must stand in {path}; it does not")
            return found[which]

        await self._files.edit(path, lambda text: replaced(text, old, new, some))
        return f"{path} was edited"

    async def _text(self, path: str) -> str | None:
        """None for what is no text file of an ordinary size."""
        if not await self._files.exists(path):
            return None
        found = await self._files.stat(path)
        if found.kind != "file" or found.size > LARGEST_EDIT:
            return None
        return (await self._files.read(path)).decode(errors="replace")

    def _path(self, body: Fields, name: str) -> str:
        path = body.text(name)
        if not path or "\0" in path:
            raise body.error(name, "a path")
        return posixpath.join(self._machine.home, path)


def _texts(body: Fields, name: str) -> list[str]:
    values = body.array(name)
    if not all(isinstance(each, str) for each in values):
        raise body.error(name, "an array of texts")
    return values


def _choice(body: Fields, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
    value = body.text(name, default)
    if value not in choices:
        raise body.error(name, f"one of {', '.join(choices)}")
    return value


def _entry(folder: str, entry: Entry, sizes: bool, modes: bool) -> dict[str, Any]:
    return {
        "name": posixpath.basename(entry.path), "path": posixpath.join(folder, entry.path),
        "is_directory": entry.kind == "folder", "size": entry.size if sizes and entry.kind != "folder" else None,
        "modified_time": iso(entry.modified), "permissions": f"{entry.mode:03o}" if modes else None,
        "extension": posixpath.splitext(entry.path)[1] or None,
    }  # fmt: skip
