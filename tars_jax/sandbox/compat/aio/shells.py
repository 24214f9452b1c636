"""/v1/shell: sessions of bash on terminals of their own. Commands that run on are looked at, typed into, killed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import secrets
import shlex
import time
from collections import deque
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, absent, answer, answering, named
from tars_jax.sandbox.compat.serving import LONGEST_S, MOST_SESSIONS, read_fields
from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Result, Shell, ShellBusy
from tars_jax.sandbox.shell.text import cut
from tars_jax.web.protocol import Fields
from tars_jax.web.responses import JsonResponse

TRUNCATED = 30_000  # characters of an output that a client has not asked for whole
LIMIT = 200_000  # of one that it has
MOST_RECORDS = 50
NO_CHANGE_S = 120.0
SLICE_S = 0.5  # how often a command is looked at that may be silent too long
CHANGES_IN_S = 5.0  # for a change of folder
ACTIVE_S = 300.0


@dataclasses.dataclass
class Record:
    """A command and what came of it."""

    folder: str
    command: str
    output: str = ""
    status: str = "running"
    exit_code: int | None = None

    def take(self, result: Result) -> None:
        self.output = cut(self.output + result.output, LIMIT)
        if result.exit_code is not None or result.ended:
            self.status, self.exit_code = "completed", result.exit_code

    def to_json(self) -> dict[str, Any]:
        return {
            "ps1": f"agent@computer:{self.folder} $",
            "command": self.command,
            "output": cut(self.output, TRUNCATED),
        }


class Session:
    def __init__(self, machine: GuestMachine, id: str, folder: str | None, no_change_s: float) -> None:
        self.id, self.no_change_s = id, no_change_s
        self.folder = folder or machine.home
        self._shell = Shell(machine, limit=LIMIT, folder=folder)
        self.records: deque[Record] = deque(maxlen=MOST_RECORDS)
        self.made = self.used = time.time()
        self._waited = False  # a call waits for the command, and takes its output

    async def open(self) -> None:
        await self._shell.open()

    async def close(self) -> None:
        await self._shell.close()

    @property
    def last(self) -> Record | None:
        return self.records[-1] if self.records else None

    @property
    def running(self) -> bool:
        return self.last is not None and self.last.status == "running"

    async def change_folder(self, folder: str, strict: bool) -> None:
        if self._waited or self._shell.running:
            await self.look()
        changed = await self._shell.run(f"cd -- {shlex.quote(folder)}", CHANGES_IN_S)
        if changed.exit_code and strict:
            raise Failed(400, f"exec_dir must be a folder; got {folder!r:.200}")
        self.folder = changed.folder

    async def run(
        self, command: str, wait_s: float, no_change_s: float | None = None, hard_s: float | None = None
    ) -> Record:
        """Runs a command until it ends, is silent too long, or has had its time; `hard_s` kills it."""
        await self.look()
        if self.running or self._waited:
            raise ShellBusy("a command is still running in this session: wait for it, write to it or kill it")
        record = Record(self.folder, command)
        clock = time.monotonic
        began = changed = clock()
        quiet_s = self.no_change_s if no_change_s is None else no_change_s
        self._waited = True
        try:
            ends = min(wait_s, LONGEST_S if hard_s is None else hard_s)
            result = await self._shell.run(command, min(SLICE_S, ends))
            self.records.append(record)
            record.take(result)
            while record.status == "running":
                now = clock()
                if hard_s is not None and now - began >= hard_s:
                    record.take(await self._shell.kill())
                    record.status = "hard_timeout"
                elif now - began >= wait_s:
                    break
                elif now - changed >= quiet_s:
                    record.status = "no_change_timeout"
                else:
                    rest = min(SLICE_S, ends - (now - began), quiet_s - (now - changed))
                    result = await self._shell.more(max(rest, 0.01))
                    changed = clock() if result.output else changed
                    record.take(result)
            self.folder = result.folder
        finally:
            self._waited = False
        return record

    async def look(self, wait_s: float = 0.0) -> None:
        """Takes what the running command has written, unless another call does."""
        record = self.last
        if record is None or self._waited or not self._shell.running:
            return
        self._waited = True
        try:
            result = await self._shell.more(wait_s)
            record.take(result)
            self.folder = result.folder
        finally:
            self._waited = False

    async def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        await self.look(seconds)
        while self.running and time.monotonic() < until:  # another call waits, too
            await asyncio.sleep(0.05)

    async def write(self, text: str) -> None:
        result = await self._shell.send(text, 0.1)
        if self.last is not None:
            self.last.take(result)

    async def kill(self) -> Record | None:
        if self.last is None or not self._shell.running:
            return self.last
        result = await self._shell.kill()
        self.last.take(result)
        if self.last.status != "running":
            self.last.status = "terminated"
        return self.last


class Shells:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._sessions: dict[str, Session] = {}
        self._lock = asyncio.Lock()

    def routes(self) -> list[Route]:
        posts = {
            "exec": self.exec, "view": self.view, "wait": self.wait, "write": self.write, "kill": self.kill,
            "sessions/create": self.create, "sessions/update": self.update,
        }  # fmt: skip
        gets = {"sessions": self.list, "sessions/stats": self.stats, "terminal-url": self.terminal_url}
        deletes = {"sessions": self.end_all, "sessions/{id}": self.end}
        return [
            Route(f"/v1/shell/{path}", answering(work), methods=[method])
            for method, paths in (("POST", posts), ("GET", gets), ("DELETE", deletes))
            for path, work in paths.items()
        ]

    async def exec(self, request: Request) -> Response:
        body = await read_fields(request)
        command, truncate = body.text("command"), body.flag("truncate", True)
        wait_s = body.number("timeout", LONGEST_S, 0, LONGEST_S)
        quiet_s = body.number("no_change_timeout", -1, 0, LONGEST_S)
        hard_s = body.number("hard_timeout", -1, 0, LONGEST_S)
        folder = _folder(body)
        session = await self._session_of(body)
        if folder is not None:
            await session.change_folder(folder, body.flag("strict"))
        record = await session.run(
            command, 0.0 if body.flag("async_mode") else wait_s, None if quiet_s < 0 else quiet_s,
            None if hard_s < 0 else hard_s,
        )  # fmt: skip
        output = cut(record.output, TRUNCATED) if truncate else record.output
        return answer(
            {
                "session_id": session.id,
                "command": command,
                "status": record.status,
                "output": output,
                "console": [record.to_json()],
                "exit_code": record.exit_code,
            }
        )

    async def view(self, request: Request) -> Response:
        session = self._known(await read_fields(request))
        await session.look()
        last = session.last
        text = cut("".join(record.output for record in session.records), TRUNCATED)
        return answer(
            {
                "session_id": session.id,
                "output": text,
                "console": [each.to_json() for each in session.records],
                "status": last.status if last else "completed",
                "command": last.command if last else None,
                "exit_code": last.exit_code if last else None,
            }
        )

    async def wait(self, request: Request) -> Response:
        body = await read_fields(request)
        session = self._known(body)
        seconds = min(body.number("seconds", LONGEST_S, 0, LONGEST_S), body.number("max_wait_seconds", 600.0, 0, 1e6))
        await session.wait(seconds)
        return answer({"status": session.last.status if session.last else "completed"})

    async def write(self, request: Request) -> Response:
        body = await read_fields(request)
        session = self._known(body)
        await session.write(body.text("input") + ("\n" if body.flag("press_enter") else ""))
        return answer({"status": session.last.status if session.last else "completed"})

    async def kill(self, request: Request) -> Response:
        record = await self._known(await read_fields(request)).kill()
        code = record.exit_code if record else None
        return answer({"status": record.status if record else "terminated", "exit_code": code, "returncode": code})

    async def create(self, request: Request) -> Response:
        body = await read_fields(request)
        id = named(body) if body.value("id") is not None else secrets.token_hex(8)
        session = await self._open(id, _folder(body), body.number("no_change_timeout", NO_CHANGE_S, 0, LONGEST_S))
        return answer({"session_id": session.id, "working_dir": session.folder})

    async def update(self, request: Request) -> Response:
        body = await read_fields(request)
        session = self._known(body)
        session.no_change_s = body.number("no_change_timeout", session.no_change_s, 0, LONGEST_S)
        return answer()

    async def list(self, request: Request) -> Response:
        now = time.time()
        return answer({"sessions": {
            each.id: {
                "working_dir": each.folder, "created_at": _iso(each.made), "last_used_at": _iso(each.used),
                "age_seconds": int(now - each.made), "status": "running" if each.running else "ready",
                "current_command": each.last.command if each.last and each.running else None,
            }
            for each in self._sessions.values()
        }})  # fmt: skip

    async def stats(self, request: Request) -> Response:
        total = len(self._sessions)
        active = len([each for each in self._sessions.values() if time.time() - each.used < ACTIVE_S])
        return JsonResponse({
            "total_sessions": total, "active_sessions": active, "idle_sessions": total - active,
            "max_sessions": MOST_SESSIONS, "session_timeout": 0, "usage_ratio": total / MOST_SESSIONS,
        })  # fmt: skip

    async def terminal_url(self, request: Request) -> Response:
        raise absent("a terminal's page")

    async def end(self, request: Request) -> Response:
        id = request.path_params["id"]
        if id not in self._sessions:
            raise Failed(404, f"there is no shell session {id!r:.200}")
        await self._sessions.pop(id).close()
        return answer()

    async def end_all(self, request: Request) -> Response:
        await self.close()
        return answer()

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, {}
        with contextlib.suppress(SandboxFailure):
            await asyncio.gather(*(session.close() for session in sessions.values()))

    def _known(self, body: Fields) -> Session:
        session = self._sessions.get(body.text("id"))
        if session is None:
            raise Failed(404, f"there is no shell session {body.text('id')!r:.200}")
        session.used = time.time()
        return session

    async def _session_of(self, body: Fields) -> Session:
        return self._known(body) if body.value("id") is not None else await self._open(secrets.token_hex(8), None)

    async def _open(self, id: str, folder: str | None, no_change_s: float = NO_CHANGE_S) -> Session:
        """The session of that name, made where there is none."""
        async with self._lock:
            if id in self._sessions:
                return self._sessions[id]
            if len(self._sessions) >= MOST_SESSIONS:
                raise Failed(429, f"there may be {MOST_SESSIONS} shell sessions at once; end one")
            session = Session(self._machine, id, folder, no_change_s)
            await session.open()
            self._sessions[id] = session
            return session


def _folder(body: Fields) -> str | None:
    folder = body.optional_text("exec_dir")
    if folder is not None and not folder.startswith("/"):
        raise body.error("exec_dir", "an absolute path")
    return folder


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
