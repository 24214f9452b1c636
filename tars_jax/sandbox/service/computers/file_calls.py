"""Files of a session: read, written, listed, searched, edited; below the root of the computer and nowhere else."""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.computers.part import SessionPart, Work, as_json, data_of, seconds
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.search import FileQuery
from tars_jax.web.protocol import RequestFields

LARGEST = 16 << 20  # bytes of a file in one answer; GET .../files gives larger ones
MOST_ENTRIES = 10_000


class FileCalls(SessionPart):
    """Paths are absolute, or begin at the home folder."""

    def __init__(self, machine: GuestMachine) -> None:
        self.files = Files(machine)
        self.calls = {
            "read": self._read, "write": self._write, "list": self._list, "stat": self._stat, "search": self._search,
            "edit": self._edit, "make_folder": self._make_folder, "remove": self._remove, "move": self._move,
        }  # fmt: skip

    def _read(self, fields: RequestFields) -> Work:
        """{path, offset?, limit?} -> {data} or {data_base64}, {size}"""
        path, offset = fields.text("path"), fields.integer("offset", 0, 0, 1 << 50) or 0
        limit = fields.integer("limit", LARGEST, 1, LARGEST) or LARGEST

        async def work() -> Any:
            size = (await self.files.stat(path)).size
            data = await self.files.read(path, offset, limit)
            return {**as_json("data", data), "size": size, "whole": offset == 0 and len(data) >= size}

        return work

    def _write(self, fields: RequestFields) -> Work:
        """{path, data or data_base64, new?, version?}; `version`: of the file that is replaced, as stat told it"""
        path, data = fields.text("path"), data_of(fields, "data")
        new, version = fields.flag("new"), fields.optional_text("version")

        async def work() -> Any:
            return dataclasses.asdict(await self.files.write(path, data, new=new, version=version))

        return work

    def _list(self, fields: RequestFields) -> Work:
        path, depth = fields.text("path", "."), fields.integer("depth", 1, 1, 100) or 1
        limit = fields.integer("limit", MOST_ENTRIES, 1, MOST_ENTRIES) or 1

        async def work() -> Any:
            entries, whole = await self.files.list(path, depth, limit)
            return {"entries": [dataclasses.asdict(entry) for entry in entries], "whole": whole}

        return work

    def _stat(self, fields: RequestFields) -> Work:
        path = fields.text("path")

        async def work() -> Any:
            return dataclasses.asdict(await self.files.stat(path))

        return work

    def _search(self, fields: RequestFields) -> Work:
        """{path?, name?, pattern?, literal?, limit?, timeout_s?} -> {found: [{path, line, text}], whole}"""
        path, name, pattern = fields.text("path", "."), fields.text("name", ""), fields.text("pattern", "")
        literal, limit = fields.flag("literal"), fields.integer("limit", 1000, 1, 100_000) or 1
        timeout_s = seconds(fields, 30.0)

        async def work() -> Any:
            query = FileQuery(name=name, pattern=pattern, literal=literal, limit=limit)
            result = await self.files.search(path, query, timeout_s=timeout_s)
            found = [{"path": each.path, "line": each.line, "text": each.text} for each in result.found]
            return {"found": found, "whole": result.whole}

        return work

    def _edit(self, fields: RequestFields) -> Work:
        """{path, old, new, all?} -> {replaced}: `old` must stand there once, or with `all` once or more"""
        path, old, new, every = fields.text("path"), fields.text("old"), fields.text("new"), fields.flag("all")

        async def work() -> Any:
            _, replacement = await self.files.replace(path, old, new, "all" if every else "one")
            return {"replaced": replacement.count}

        return work

    def _make_folder(self, fields: RequestFields) -> Work:
        path = fields.text("path")

        async def work() -> Any:
            await self.files.make_folder(path)
            return {}

        return work

    def _remove(self, fields: RequestFields) -> Work:
        path, every = fields.text("path"), fields.flag("all")

        async def work() -> Any:
            await self.files.remove(path, all=every)
            return {}

        return work

    def _move(self, fields: RequestFields) -> Work:
        path, to = fields.text("path"), fields.text("to")

        async def work() -> Any:
            await self.files.move(path, to)
            return {}

        return work
