"""/v1/shell: sessions of bash on terminals of their own. Commands that run on are looked at, typed into, killed."""

from __future__ import annotations

import secrets
import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import absent, answer, answering, iso, session_folder, session_name
from tars_jax.sandbox.compat.aio.shell_session import TRUNCATED, ShellSession
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell.text import cut
from tars_jax.sandbox.tools.named_sessions import LONGEST_S, MOST_SESSIONS, NamedSessions
from tars_jax.web.gate import read_fields
from tars_jax.web.protocol import RequestFields
from tars_jax.web.responses import JsonResponse

NO_CHANGE_S = 120.0
ACTIVE_S = 300.0


class ShellRoutes:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._sessions = NamedSessions[ShellSession]("shell", MOST_SESSIONS, ShellSession.is_busy)

    def routes(self) -> list[Route]:
        posts = {
            "exec": self.exec, "view": self.view, "wait": self.wait, "write": self.write, "kill": self.kill,
            "sessions/create": self.create, "sessions/update": self.update,
        }  # fmt: skip
        gets = {"sessions": self.list, "sessions/stats": self.stats, "terminal-url": self.terminal_url}
        deletes = {"sessions": self.end_all, "sessions/{id:path}": self.end}
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
        folder = session_folder(body)
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
        text = cut("".join(record.output for record in session.commands), TRUNCATED)
        return answer(
            {
                "session_id": session.id,
                "output": text,
                "console": [each.to_json() for each in session.commands],
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
        id = session_name(body)
        session = await self._open(
            id, session_folder(body), body.number("no_change_timeout", NO_CHANGE_S, 0, LONGEST_S)
        )
        return answer({"session_id": session.id, "working_dir": session.shell.folder})

    async def update(self, request: Request) -> Response:
        body = await read_fields(request)
        session = self._known(body)
        session.no_change_s = body.number("no_change_timeout", session.no_change_s, 0, LONGEST_S)
        return answer()

    async def list(self, request: Request) -> Response:
        now = time.time()
        return answer({"sessions": {
            each.id: {
                "working_dir": each.shell.folder, "created_at": iso(each.made),
                "last_used_at": iso(self._sessions.used[each.id]),
                "age_seconds": int(now - each.made), "status": "running" if each.running else "ready",
                "current_command": each.last.command if each.last and each.running else None,
            }
            for each in self._sessions.named.values()
        }})  # fmt: skip

    async def stats(self, request: Request) -> Response:
        total = len(self._sessions.named)
        active = len([used for used in self._sessions.used.values() if time.time() - used < ACTIVE_S])
        return JsonResponse({
            "total_sessions": total, "active_sessions": active, "idle_sessions": total - active,
            "max_sessions": MOST_SESSIONS, "session_timeout": 0, "usage_ratio": total / MOST_SESSIONS,
        })  # fmt: skip

    async def terminal_url(self, request: Request) -> Response:
        raise absent("a terminal's page")

    async def end(self, request: Request) -> Response:
        await self._sessions.close_one(request.path_params["id"])
        return answer()

    async def end_all(self, request: Request) -> Response:
        await self._sessions.close()
        return answer()

    async def close(self) -> None:
        await self._sessions.close()

    def _known(self, body: RequestFields) -> ShellSession:
        return self._sessions.known(body.text("id"))

    async def _session_of(self, body: RequestFields) -> ShellSession:
        return self._known(body) if body.value("id") is not None else await self._open(secrets.token_hex(8), None)

    async def _open(self, id: str, folder: str | None, no_change_s: float = NO_CHANGE_S) -> ShellSession:
        async def make() -> ShellSession:
            session = ShellSession(self._machine, id, folder, no_change_s)
            await session.open()
            return session

        return await self._sessions.open(id, make)
