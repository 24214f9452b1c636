"""/v1/jupyter and /v1/code: cells in kernels that keep their variables, and programs that begin anew each time."""

from __future__ import annotations

import base64
import contextlib
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import absent, answer, answering, session_name
from tars_jax.sandbox.compat.aio.cells import KernelSession, error_output, status_of, streams
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell.text import cut, outputs
from tars_jax.sandbox.tools.cell_output import CellResult
from tars_jax.sandbox.tools.kernels import Kernel
from tars_jax.sandbox.tools.named_sessions import NamedSessions
from tars_jax.web.gate import read_fields
from tars_jax.web.protocol import RequestFields

MOST_KERNELS = 16  # the one that was not used for longest makes place
KERNEL = "python3"
DEFAULT_S, LONGEST_S = 30.0, 300.0
LIMIT = 30_000  # characters of each output
LANGUAGES = {"python": ("python3", "Python"), "javascript": ("node", "Node.js")}


class KernelRoutes:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._sessions = NamedSessions[KernelSession]("Jupyter", MOST_KERNELS, KernelSession.is_busy)

    def routes(self) -> list[Route]:
        routes = {
            ("POST", "/v1/jupyter/execute"): self.execute, ("GET", "/v1/jupyter/info"): self.info,
            ("POST", "/v1/jupyter/sessions/create"): self.create, ("GET", "/v1/jupyter/sessions"): self.list,
            ("DELETE", "/v1/jupyter/sessions"): self.end_all, ("DELETE", "/v1/jupyter/sessions/{id:path}"): self.end,
            ("POST", "/v1/code/execute"): self.code, ("GET", "/v1/code/info"): self.languages,
        }  # fmt: skip
        return [Route(path, answering(work), methods=[method]) for (method, path), work in routes.items()]

    async def execute(self, request: Request) -> Response:
        body = await read_fields(request)
        code, timeout_s, kernel = body.text("code"), _timeout(body), _kernel(body)
        id = session_name(body, "session_id")
        ran, count = await self._run(id, code, timeout_s, body.optional_text("cwd"))
        return answer(
            {
                "kernel_name": kernel,
                "session_id": id,
                "status": _status(ran),
                "execution_count": count,
                "outputs": _outputs(ran, count),
                "code": code,
                "msg_id": None,
            }
        )

    async def code(self, request: Request) -> Response:
        body = await read_fields(request)
        language, code, timeout_s = body.text("language"), body.text("code"), _timeout(body)
        if language not in LANGUAGES:
            raise body.error("language", f"one of {', '.join(LANGUAGES)}")
        cwd, common = body.optional_text("cwd"), {"language": language, "code": code}
        if body.flag("stateful"):
            if language != "python":
                raise absent(f"a stateful session of {language}")
            id = session_name(body, "session_id")
            cell, count = await self._run(id, code, timeout_s, cwd)
            failed = {"exit_code": int(_status(cell) != "ok"), "traceback": cell.error.splitlines() or None}
            said = {"status": _status(cell), "outputs": _outputs(cell, count), "session_id": id}
            return answer({**common, **said, **failed, "stdout": cell.stdout, "stderr": cell.stderr})
        try:
            ran = await self._machine.run([LANGUAGES[language][0], "-"], code.encode(), cwd=cwd, timeout_s=timeout_s)
        except GuestError as error:
            if error.is_no_program:
                raise absent(LANGUAGES[language][1]) from error
            raise
        stdout, stderr = (cut(text, LIMIT) for text in outputs(ran, 1 << 20))
        status = status_of(ran)
        trace = stderr.splitlines() if status == "error" else None
        said = {"status": status, "outputs": streams(stdout, stderr), "stdout": stdout, "stderr": stderr}
        return answer({**common, **said, "exit_code": ran.status, "traceback": trace, "session_id": None})

    async def languages(self, request: Request) -> Response:
        known = []
        for language, (program, name) in LANGUAGES.items():
            with contextlib.suppress(GuestError):
                ran = await self._machine.run([program, "--version"])
                known.append(
                    {
                        "language": language,
                        "description": name,
                        "runtime_version": (ran.stdout or ran.stderr).decode(errors="replace").strip(),
                        "default_timeout": int(DEFAULT_S),
                        "max_timeout": int(LONGEST_S),
                        "details": None,
                    }
                )
        return answer({"languages": known})

    async def info(self, request: Request) -> Response:
        return answer(
            {
                "default_kernel": KERNEL,
                "available_kernels": [KERNEL],
                "active_sessions": len(self._sessions.named),
                "session_timeout_seconds": 0,
                "max_sessions": MOST_KERNELS,
                "kernel_detection": "dynamic",
                "description": "Python kernels that keep their variables; the one unused for longest makes place",
            }
        )

    async def create(self, request: Request) -> Response:
        body = await read_fields(request)
        kernel = _kernel(body)
        id = session_name(body, "session_id")
        await self._open(id, body.optional_text("cwd"))
        return answer({"session_id": id, "kernel_name": kernel, "message": "the session is ready"})

    async def list(self, request: Request) -> Response:
        now = time.time()
        shown = {
            id: {"kernel_name": KERNEL, "last_used": used, "age_seconds": int(now - used)}
            for id, used in self._sessions.used.items()
        }
        return answer({"sessions": shown})

    async def end(self, request: Request) -> Response:
        await self._sessions.close_one(request.path_params["id"])
        return answer()

    async def end_all(self, request: Request) -> Response:
        await self._sessions.close()
        return answer()

    async def close(self) -> None:
        await self._sessions.close()

    async def _run(self, id: str, code: str, timeout_s: float, cwd: str | None) -> tuple[CellResult, int]:
        session = await self._open(id, cwd)
        session.busy += 1
        try:
            ran = await session.kernel.run(code, timeout_s)
        finally:
            session.busy -= 1
        session.count += 1
        return ran, session.count

    async def _open(self, id: str, cwd: str | None) -> KernelSession:
        async def make() -> KernelSession:
            kernel = Kernel(self._machine, folder=cwd)
            await kernel.start()
            return KernelSession(kernel)

        return await self._sessions.open(id, make)


def _timeout(body: RequestFields) -> float:
    return body.number("timeout", DEFAULT_S, 0.1, LONGEST_S)


def _kernel(body: RequestFields) -> str:
    name = body.text("kernel_name", KERNEL)
    if not name.startswith(KERNEL):
        raise body.error("kernel_name", KERNEL)
    return name


def _status(ran: CellResult) -> str:
    return "timeout" if ran.timed_out else "error" if ran.error or ran.restarted else "ok"


def _outputs(ran: CellResult, count: int) -> list[dict[str, Any]]:
    """Outputs of a cell in nbformat's shape."""
    outputs = streams(ran.stdout, ran.stderr)
    pictures = [{"image/png": base64.b64encode(image).decode()} for image in ran.images]
    for data in [*pictures, *({"text/html": page} for page in ran.html)]:
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    if ran.result:
        shown = {"text/plain": ran.result, **({"text/html": ran.result_html} if ran.result_html else {})}
        outputs.append({"output_type": "execute_result", "data": shown, "metadata": {}, "execution_count": count})
    error = ran.error or ("KernelDied: the kernel has ended; the next cell has a new one" if ran.restarted else "")
    if error:
        name, _, value = error.rstrip("\n").rpartition("\n")[2].partition(": ")
        outputs.append(error_output(name, value, error))
    return outputs
