"""AIO's answers, {"success", "message", "data"}, and what goes wrong as answers with a status."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tars_jax import InputError
from tars_jax.sandbox.failures import PageError, SandboxFailure
from tars_jax.sandbox.shell import ShellBusy
from tars_jax.sandbox.tools.named_sessions import NotOpen, TooMany
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import JsonResponse

# Of what is raised below, the status of the answer: the first kind that fits. A GuestError has its code's.
_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (ShellBusy, 409), (TooMany, 429), (NotOpen, 404), (InputError, 400), (PageError, 400), (SandboxFailure, 503),
)  # fmt: skip
_CODES = {"ENOENT": 404, "ENOTDIR": 404, "EACCES": 403, "EPERM": 403, "EFBIG": 413, "ENOSPC": 507, "EEXIST": 409}


BUSY = "a command is still running in this session: wait for it, write to it or kill it"


class Failed(Exception):
    """An answer without success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def answer(data: Any = None, message: str = "Operation successful") -> Response:
    return JsonResponse({"success": True, "message": message, "data": data})


def failure(status: int, message: str) -> Response:
    return JsonResponse({"success": False, "message": message, "data": None}, status)


def absent(part: str, serves: str = "") -> Failed:
    """Typed: what is asked for is no part of this computer; `serves` says what is there in its place."""
    return Failed(501, f"{part} is not part of this session{serves and f': {serves}'}")


def session_name(fields: RequestFields, name: str = "id") -> str:
    """The one that a client has chosen; a new one where it has not."""
    if fields.value(name) is None:
        return secrets.token_hex(8)
    text = fields.text(name)
    if not 0 < len(text) <= 200 or not text.isprintable():
        raise fields.error(name, "1 to 200 printable characters")
    return text


def session_folder(fields: RequestFields) -> str | None:
    """`exec_dir`, where a session begins or goes to."""
    folder = fields.optional_text("exec_dir")
    if folder is not None and not folder.startswith("/"):
        raise fields.error("exec_dir", "an absolute path")
    return folder


def iso(seconds: float) -> str:
    """A time since 1970 as clients read it."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()


def answering(work: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """What is raised below, as answers."""

    async def answered(request: Request) -> Response:
        try:
            return await work(request)
        except Failed as failed:
            return failure(failed.status, failed.message)
        except RequestError as error:
            return invalid(error)
        except (InputError, PageError, SandboxFailure) as error:
            status = next(status for kind, status in _STATUSES if isinstance(error, kind))
            words = f"infrastructure: {error}" if isinstance(error, SandboxFailure) else str(error)
            return failure(_CODES.get(getattr(error, "code", ""), status), words)

    return answered


def invalid(error: RequestError) -> Response:
    """As FastAPI says it."""
    if error.status != 400:
        return JsonResponse({"detail": error.message}, error.status, error.headers)
    place = ["body", *([error.param] if error.param else [])]
    return JsonResponse({"detail": [{"loc": place, "msg": error.message, "type": "value_error"}]}, 422)
