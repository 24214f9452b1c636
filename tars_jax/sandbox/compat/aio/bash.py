"""/v1/bash: sessions of bash whose commands have stdout and stderr apart, each read from a byte on."""

from __future__ import annotations

import re
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, answer, answering, iso, session_folder, session_name
from tars_jax.sandbox.compat.aio.bash_session import SLICE_S, BashSession, Command
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell.split_shell import LARGEST_READ
from tars_jax.sandbox.shell.text import cut
from tars_jax.sandbox.tools.named_sessions import LONGEST_S, MOST_SESSIONS, NamedSessions
from tars_jax.web.gate import read_fields, text_map
from tars_jax.web.protocol import RequestError, RequestFields

LIMIT = 30_000  # characters of an output, where a client does not say how many
SIGNALS = ("SIGTERM", "SIGKILL", "SIGINT")


class BashRoutes:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._sessions = NamedSessions[BashSession]("bash", MOST_SESSIONS, BashSession.is_busy)

    def routes(self) -> list[Route]:
        posts = {
            "exec": self.exec, "output": self.output, "write": self.write, "kill": self.kill,
            "sessions/create": self.create, "sessions/{id:path}/close": self.end,
        }  # fmt: skip
        return [
            Route("/v1/bash/sessions", answering(self.list), methods=["GET"]),
            *(Route(f"/v1/bash/{path}", answering(work), methods=["POST"]) for path, work in posts.items()),
        ]

    async def exec(self, request: Request) -> Response:
        body = await read_fields(request)
        limit = body.integer("max_output_length", LIMIT, 0, LARGEST_READ) or LARGEST_READ
        wait_s = 0.0 if body.flag("async_mode") else body.number("timeout", LONGEST_S, 0, LONGEST_S)
        hard_s = body.number("hard_timeout", LONGEST_S, 0.001, LONGEST_S)
        session = await self._session_of(body)
        command = await session.run(body.text("command"), session_folder(body), _variables(body), wait_s, hard_s)
        stdout, stderr = await session.shell.written(command.begins)
        return answer(
            {
                "session_id": session.id, **command.to_json(), "stdout": cut(stdout.text, limit),
                "stderr": cut(stderr.text, limit) + command.take_notice(), "offset": stdout.end,
                "stderr_offset": stderr.end,
            }
        )  # fmt: skip

    async def output(self, request: Request) -> Response:
        body = await read_fields(request)
        session = self._known(body)
        command = _command(session, body)
        first = (0, 0) if body.value("command_id") is None or command is None else command.begins
        begins = (
            body.integer("offset", first[0], 0, 1 << 62) or 0,
            body.integer("stderr_offset", first[1], 0, 1 << 62) or 0,
        )
        wait_s = body.number("wait_timeout", 30.0, 0, LONGEST_S) if body.flag("wait") else 0.0
        end = time.monotonic() + wait_s
        await session.look()
        while (found := await session.shell.written(begins)) and not any(stream.text for stream in found):
            rest = end - time.monotonic()
            if rest <= 0 or not session.running:
                break
            await session.look(min(rest, SLICE_S))
        stdout, stderr = found
        notice = "" if command is None else command.take_notice()
        return answer(
            {
                "session_id": session.id, "stdout": stdout.text, "stderr": stderr.text + notice, "offset": stdout.end,
                "stderr_offset": stderr.end, "command": None if command is None else command.to_json(),
            }
        )  # fmt: skip

    async def write(self, request: Request) -> Response:
        body = await read_fields(request)
        session = self._known(body)
        _command(session, body)
        await session.write(body.text("input"))
        return answer()

    async def kill(self, request: Request) -> Response:
        body = await read_fields(request)
        signal = body.text("signal", "SIGTERM")
        if signal not in SIGNALS:
            raise body.error("signal", f"one of {', '.join(SIGNALS)}")
        await self._known(body).kill(signal)
        return answer()

    async def list(self, request: Request) -> Response:
        sessions = list(self._sessions.named.values())
        for session in sessions:
            await session.look()
        return answer([self._to_json(session) for session in sessions])

    async def create(self, request: Request) -> Response:
        body = await read_fields(request)
        if body.value("snapshot_path") is not None:
            raise body.error("snapshot_path", "left out, as sessions begin without one here")
        id = session_name(body, "session_id")
        return answer(self._to_json(await self._open(id, session_folder(body))))

    async def end(self, request: Request) -> Response:
        await self._sessions.close_one(request.path_params["id"])
        return answer()

    async def close(self) -> None:
        await self._sessions.close()

    def _to_json(self, session: BashSession) -> dict[str, Any]:
        return {**session.to_json(), "last_used_at": iso(self._sessions.used.get(session.id, session.made))}

    def _known(self, body: RequestFields) -> BashSession:
        return self._sessions.known(body.text("session_id"))

    async def _session_of(self, body: RequestFields) -> BashSession:
        """The one that is named, made where there is none; a new one where none is."""
        id = session_name(body, "session_id")
        return await self._open(id, None)

    async def _open(self, id: str, folder: str | None) -> BashSession:
        async def make() -> BashSession:
            session = BashSession(self._machine, id, folder)
            await session.open()
            return session

        return await self._sessions.open(id, make)


def _command(session: BashSession, body: RequestFields) -> Command | None:
    """The one that is named, or the last."""
    id = body.optional_text("command_id")
    if id is None:
        return session.last
    for command in session.commands:
        if command.id == id:
            return command
    raise Failed(404, f"there is no command {id!r:.200} in this session")


def _variables(body: RequestFields) -> dict[str, str]:
    variables = text_map(body, "env") or {}
    if wrong := [name for name in variables if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)]:
        raise RequestError(f"env must have names of variables; got {wrong[0]!r:.80}", "env")
    if any("\0" in value for value in variables.values()):
        raise body.error("env", "texts without zero bytes")
    return variables
