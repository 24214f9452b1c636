"""The application: SWE-ReX's endpoints over one machine. A file path that is not absolute begins in the home folder."""

from __future__ import annotations

import contextlib
import io
import posixpath
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tars_jax import InputError
from tars_jax.sandbox.compat.swe_rex.bash import Action, SweRexSession
from tars_jax.sandbox.compat.swe_rex.repeats import Repeats
from tars_jax.sandbox.compat.swe_rex.transfers import STATUS, Transfer, swerex, transfer_of
from tars_jax.sandbox.computer.guest_client import GuestError, naming
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell.text import MOST_OUTPUT, outputs
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.named_sessions import LONGEST_S, MOST_SESSIONS, NamedSessions
from tars_jax.web.forms import read_parts
from tars_jax.web.gate import Gate, Guarded, read_fields, text_map
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import JsonResponse

CHECKS = ("silent", "raise", "ignore")
UNZIP_S = 120.0
Handler = Callable[[RequestFields], Awaitable[dict[str, Any]]]


class Runtime:
    """What the endpoints do. Raises Transfer, InputError and SandboxFailure."""

    def __init__(self, machine: GuestMachine) -> None:
        self._machine, self._files = machine, Files(machine)
        self._sessions = NamedSessions[SweRexSession]("session", MOST_SESSIONS)

    async def create_session(self, body: RequestFields) -> dict[str, Any]:
        name, timeout_s = self._session_name(body), body.number("startup_timeout", 1.0, 0, LONGEST_S)
        sources = [str(each) for each in body.array("startup_source")]

        async def make() -> SweRexSession:
            session = SweRexSession(self._machine)
            try:
                await session.start(sources, timeout_s)
            except BaseException:
                await session.close()
                raise
            return session

        return {"output": (await self._sessions.open_new(name, make)).greeting, "session_type": "bash"}

    async def run_in_session(self, body: RequestFields) -> dict[str, Any]:
        kind = body.text("action_type", "bash")
        session = self._sessions.known(self._session_name(body))
        expect = tuple(str(each) for each in body.array("expect"))
        if kind == "bash_interrupt":
            retries = body.integer("n_retry", 3, 0, 100) or 0
            return await session.interrupt(body.number("timeout", 0.2, 0, LONGEST_S), retries)
        if kind != "bash":
            raise body.error("action_type", "bash or bash_interrupt")
        check = body.text("check", "raise")
        if check not in CHECKS:
            raise body.error("check", f"one of {', '.join(CHECKS)}")
        action = Action(
            body.text("command"), self._timeout(body), body.flag("is_interactive_command"),
            body.flag("is_interactive_quit"), check, body.text("error_msg", ""), expect,
        )  # fmt: skip
        return await session.run(action)

    async def close_session(self, body: RequestFields) -> dict[str, Any]:
        await self._sessions.close_one(self._session_name(body))
        return {"session_type": "bash"}

    async def execute(self, body: RequestFields) -> dict[str, Any]:
        command = body.value("command")
        if isinstance(command, str):
            argv = ["/bin/sh", "-c", command] if body.flag("shell") else [command]
        elif isinstance(command, list) and command and all(isinstance(each, str) for each in command):
            argv = ["/bin/sh", "-c", *command] if body.flag("shell") else command
        else:
            raise body.error("command", "text, or an array of texts")
        timeout_s = self._timeout(body)
        cwd = body.optional_text("cwd")
        folder, env, merge = cwd and self._files.absolute(cwd), text_map(body, "env"), body.flag("merge_output_streams")
        with naming(argv="command"):
            ran = await self._machine.run(
                argv, env=env, cwd=folder, timeout_s=LONGEST_S if timeout_s is None else timeout_s, limit=MOST_OUTPUT,
                merge=merge,
            )  # fmt: skip
        if ran.timed_out:
            raise swerex("CommandTimeoutError", f"Timeout ({timeout_s}s) exceeded while running command")
        stdout, stderr = outputs(ran)
        if body.flag("check") and ran.status:
            words = f"Command {command!r} failed with exit code {ran.status}. Stdout:\n{stdout!r}\nStderr:\n{stderr!r}"
            error_msg = body.text("error_msg", "")
            raise swerex("NonZeroExitCodeError", f"{error_msg}: {words}" if error_msg else words)
        return {"stdout": stdout, "stderr": stderr, "exit_code": ran.status}

    async def read_file(self, body: RequestFields) -> dict[str, Any]:
        data = await self._files.read(body.text("path"))
        encoding, errors = body.text("encoding", "utf-8"), body.text("errors", "strict")
        text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors=errors)  # line ends as read_text has them
        return {"content": text.read()}

    async def write_file(self, body: RequestFields) -> dict[str, Any]:
        path = body.text("path")
        data = body.text("content").encode()
        await self._files.write(path, data, folders=True)
        return {}

    async def upload(self, request: Request) -> dict[str, Any]:
        form = read_parts(request.headers.get("content-type", ""), await request.body())
        if "file" not in form or not form.get("target_path"):
            raise InputError("file and target_path must be fields of the form")
        target = self._files.absolute(form["target_path"].data.decode())
        unzip = form["unzip"].data.decode().lower() in ("true", "1", "yes", "on") if "unzip" in form else False
        if not unzip:
            await self._files.write(target, form["file"].data, folders=True)
            return {}
        await self._files.make_folder(posixpath.dirname(target))
        packed = f"/tmp/upload-{secrets.token_hex(8)}.zip"
        await self._files.write(packed, form["file"].data)
        try:
            python = [self._machine.python, "-I", "-m", "zipfile", "-e", packed, target]
            ran = await self._machine.run(python, timeout_s=UNZIP_S)
        finally:
            await self._files.remove(packed)
        if ran.status:
            raise InputError(f"file must be a ZIP that fits; got {ran.stderr.decode(errors='replace')[-200:].strip()}")
        return {}

    async def close(self, body: RequestFields | None = None) -> dict[str, Any]:
        """Ends the sessions. The computer is its owner's to close, and takes further calls."""
        await self._sessions.close()
        return {}

    @staticmethod
    def _session_name(body: RequestFields) -> str:
        if body.text("session_type", "bash") != "bash":
            raise body.error("session_type", "bash")
        return body.text("session", "default")

    @staticmethod
    def _timeout(body: RequestFields) -> float | None:
        return None if body.value("timeout") is None else body.number("timeout", 0.0, 0.0, LONGEST_S)


def swe_rex_app(machine: GuestMachine, gate: Gate | None) -> ASGIApp:
    """The application; the machine stays its owner's. RemoteRuntime's auth_token is the gate's."""
    runtime, repeats = Runtime(machine), Repeats()

    async def root(request: Request) -> Response:
        return JsonResponse({"message": "hello world"})

    async def is_alive(request: Request) -> Response:
        try:
            await machine.client.call("hello", patience_s=5.0)
        except SandboxFailure as failure:
            return JsonResponse({"is_alive": False, "message": str(failure)})
        return JsonResponse({"is_alive": True, "message": ""})

    def answering(path: str, handler: Handler) -> Route:
        async def answer(request: Request) -> Response:
            return await _transferred(handler, await read_fields(request))

        return Route(path, _once(repeats, answer), methods=["POST"])

    async def upload(request: Request) -> Response:
        return await _transferred(runtime.upload, request)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        with contextlib.suppress(SandboxFailure):
            await runtime.close()

    posts = ("create_session", "run_in_session", "close_session", "execute", "read_file", "write_file", "close")
    app = Starlette(
        routes=[
            Route("/", root),
            Route("/is_alive", is_alive),
            *(answering(f"/{name}", getattr(runtime, name)) for name in posts),
            Route("/upload", upload, methods=["POST"]),
        ],
        exception_handlers={RequestError: _invalid},
        lifespan=lifespan,
    )
    return Guarded(app, gate, missing=403)


def _once(
    repeats: Repeats, answer: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        if id := request.headers.get("x-request-id"):
            return await repeats.once(f"{request.url.path} {id[:200]}", lambda: answer(request))
        return await answer(request)

    return answered


async def _transferred(work: Callable[[Any], Awaitable[dict[str, Any]]], given: Any) -> Response:
    try:
        return JsonResponse(await work(given))
    except Transfer as transfer:
        return JsonResponse(transfer.to_json(), STATUS)
    except (GuestError, SandboxFailure, InputError, ValueError, LookupError) as error:
        return JsonResponse(transfer_of(error).to_json(), STATUS)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    status = 422 if error.status == 400 else error.status
    return JsonResponse({"detail": error.message}, status, error.headers)
