"""/v1/nodejs: JavaScript by the computer's own node, as programs that begin anew or in sessions that remember."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import posixpath
import secrets
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, absent, answer, answering, session_name
from tars_jax.sandbox.compat.aio.cells import KernelSession, error_output, status_of, streams
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell.text import MOST_OUTPUT, outputs
from tars_jax.sandbox.tools.cell_output import CellResult
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.kernels import Kernel
from tars_jax.sandbox.tools.named_sessions import LONGEST_S, NamedSessions
from tars_jax.web.gate import read_fields, text_map
from tars_jax.web.protocol import RequestError, RequestFields

MOST_SESSIONS = 16
LONGEST_OUTPUT = 16 << 20  # characters of each stream of a cell
DEFAULT_S = 300.0
IDLE_S = 86_400


@dataclasses.dataclass
class NodeSession(KernelSession):
    id: str = ""
    folder: str = ""
    idle_s: int = IDLE_S
    used: float = dataclasses.field(default_factory=time.time)

    def to_json(self) -> dict[str, Any]:
        return {
            "session_id": self.id, "cwd": self.folder, "created_at": self.made * 1000, "last_used": self.used * 1000,
            "max_idle_time": self.idle_s * 1000, "age_seconds": int(time.time() - self.used),
            "state": "EXECUTING" if self.busy else "IDLE",
        }  # fmt: skip


class NodeRoutes:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine, self._files = machine, Files(machine)
        self._sessions = NamedSessions[NodeSession]("Node.js", MOST_SESSIONS, NodeSession.is_busy)

    def routes(self) -> list[Route]:
        one = "/v1/nodejs/sessions/{id:path}"
        return [
            Route("/v1/nodejs/execute", answering(self.execute), methods=["POST"]),
            Route("/v1/nodejs/info", answering(self.info), methods=["GET"]),
            Route("/v1/nodejs/sessions", answering(self.list), methods=["GET"]),
            Route("/v1/nodejs/sessions", answering(self.create), methods=["POST"]),
            Route(one, answering(self.get), methods=["GET"]),
            Route(one, answering(self.update), methods=["PATCH"]),
            Route(one, answering(self.end), methods=["DELETE"]),
        ]

    async def execute(self, request: Request) -> Response:
        body = await read_fields(request)
        code, limit_s = body.text("code"), body.number("timeout", DEFAULT_S, 0.001, LONGEST_S)
        if body.flag("stateful") or body.value("session_id") is not None:
            return answer(await self._in_session(body, code, limit_s))
        folder = f"/tmp/.node-{secrets.token_hex(8)}"
        try:
            await self._files.make_folder(folder)
            for name, text in {**(text_map(body, "files") or {}), "code.js": code}.items():
                path = posixpath.normpath(posixpath.join(folder, name))
                if not path.startswith(f"{folder}/"):
                    raise RequestError(f"files must have names below the program's folder; got {name!r:.80}", "files")
                await self._files.write(path, text.encode(), folders=True)
            ran = await self._machine.run(
                ["node", f"{folder}/code.js"], (body.optional_text("stdin", 1 << 24) or "").encode(),
                cwd=body.optional_text("cwd") or folder, timeout_s=limit_s, limit=MOST_OUTPUT,
            )  # fmt: skip
        except GuestError as error:
            raise _without_node(error) from error
        finally:
            with contextlib.suppress(GuestError):
                await self._files.remove(folder, all=True)
        return answer(_executed(code, status_of(ran), *outputs(ran), ran.status or 0))

    async def info(self, request: Request) -> Response:
        versions = []
        for program in ("node", "npm"):
            try:
                ran = await self._machine.run([program, "--version"], timeout_s=30)
            except GuestError as error:
                raise _without_node(error) from error
            versions.append(ran.stdout.decode(errors="replace").strip())
        return answer(
            {
                "node_version": versions[0], "npm_version": versions[1], "supported_languages": ["javascript"],
                "description": "the computer's own node",
            }
        )  # fmt: skip

    async def list(self, request: Request) -> Response:
        return answer({"sessions": {each.id: each.to_json() for each in self._sessions.named.values()}})

    async def create(self, request: Request) -> Response:
        body = await read_fields(request)
        id = session_name(body, "session_id")
        created = id not in self._sessions.named
        session = await self._open(id, body)
        message = None if created else "the session is there already"
        return answer({"session_id": id, "created": created, "message": message, "session": session.to_json()})

    async def get(self, request: Request) -> Response:
        return answer({"session": self._sessions.known(request.path_params["id"]).to_json()})

    async def update(self, request: Request) -> Response:
        session, body = self._sessions.known(request.path_params["id"]), await read_fields(request)
        session.idle_s = body.integer("max_idle_time", session.idle_s, 1, 1 << 31) or session.idle_s
        if (folder := body.optional_text("cwd")) is not None:
            await self._run(session, f"process.chdir({json.dumps(folder)})", DEFAULT_S)
            session.folder = folder
        return answer({"updated": True, "session": session.to_json()})

    async def end(self, request: Request) -> Response:
        await self._sessions.close_one(request.path_params["id"])
        return answer({"deleted": True})

    async def close(self) -> None:
        await self._sessions.close()

    async def _in_session(self, body: RequestFields, code: str, limit_s: float) -> dict[str, Any]:
        id = session_name(body, "session_id")
        session = await self._open(id, body)
        cell = await self._run(session, code, limit_s)
        session.count += 1
        if cell.timed_out:
            return {**_executed(code, "timeout", "", "", 124), "session_id": id}
        status = "error" if cell.error_name else "ok"
        executed = _executed(code, status, cell.stdout, cell.stderr, int(status == "error"), cell)
        return {**executed, "session_id": id, "execution_count": session.count}

    async def _run(self, session: NodeSession, code: str, limit_s: float) -> CellResult:
        """Where it takes longer than `limit_s`, or the program exits, the session has ended with it."""
        if session.busy:
            raise Failed(409, f"session {session.id!r} is executing")
        session.busy, session.used = 1, time.time()
        try:
            cell = await session.kernel.run(code, limit_s)
        finally:
            session.busy = 0
        if (cell.timed_out or cell.restarted) and self._sessions.named.get(session.id) is session:
            await self._sessions.close_one(session.id)
        if cell.restarted and not cell.timed_out:
            raise Failed(409, f"session {session.id!r} has ended: its program exited")
        return cell

    async def _open(self, id: str, body: RequestFields) -> NodeSession:
        folder = body.optional_text("cwd") or self._machine.home
        idle_s = body.integer("max_idle_time", IDLE_S, 1, 1 << 31) or IDLE_S

        async def make() -> NodeSession:
            kernel = Kernel(self._machine, kind="node", folder=folder, limit=LONGEST_OUTPUT, clean=False)
            try:
                await kernel.start()
            except GuestError as error:
                raise _without_node(error) from error
            return NodeSession(kernel, id=id, folder=folder, idle_s=idle_s)

        return await self._sessions.open(id, make)


def _without_node(error: GuestError) -> Exception:
    return absent("node (the computer has none)") if error.is_no_program else error


def _executed(
    code: str, status: str, stdout: str, stderr: str, exit_code: int, cell: CellResult | None = None
) -> dict[str, Any]:
    told = streams(stdout, stderr)
    if cell and cell.error_name:
        told.append(error_output(cell.error_name, cell.error.partition("\n")[0], cell.error))
    elif cell and cell.result:
        told.append({"output_type": "execute_result", "data": {"text/plain": cell.result}})
    return {
        "language": "javascript", "status": status, "code": code, "outputs": told, "stdout": stdout, "stderr": stderr,
        "exit_code": exit_code,
    }  # fmt: skip
