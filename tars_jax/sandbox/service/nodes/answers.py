"""What managers and nodes have in common as HTTP servers: who may ask, how large bodies are, errors with a type."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.leases import LeaseEnded, LeaseHeld
from tars_jax.web.protocol import Fields, RequestError
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import error_response, read_json, refuse

BODY_SECONDS = 30.0
MOST_FENCE = 1 << 62


@contextlib.contextmanager
def typed_errors() -> Iterator[None]:
    """What goes wrong below, as RequestError; `LeaseClient.call` reads it back into what was raised."""
    try:
        yield
    except InputError as error:
        raise RequestError(str(error), str(error).partition(" ")[0]) from error
    except QuotaExceeded as error:
        raise RequestError(str(error), status=429, code="busy", headers={"Retry-After": "1"}) from error
    except LeaseHeld as error:
        raise RequestError(str(error), str(error.left_s), status=409, code="held") from error
    except LeaseEnded as error:
        raise RequestError(str(error), error.why, status=410, code="ended") from error
    except SandboxFailure as failure:
        raise RequestError(str(failure), failure.kind, status=502, code="sandbox_failure") from failure


async def request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error)


async def fields_of(request: Request) -> Fields:
    return Fields(await read_json(request))


def fence_of(fields: Fields) -> int:
    """Raises RequestError."""
    fence = fields.integer("fence", None, 0, MOST_FENCE)
    if fence is None:
        raise fields.error("fence", "a whole number")
    return fence


class Admission:
    """An ASGI application around another one: nothing gets in without a key, by a foreign name, or too large."""

    def __init__(self, app: ASGIApp, keys: Sequence[str], *, local: bool, most_bytes: int = 1 << 22) -> None:
        self._app, self._local, self._most_bytes = app, local, most_bytes
        self._keys = [b"Bearer " + key.encode() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            headers = dict(scope["headers"])
            if self._local:
                require_local_name(headers.get(b"host", b"").decode("latin-1"))
            given = headers.get(b"authorization", b"")
            if not any([hmac.compare_digest(key, given) for key in self._keys]):
                words = "the header Authorization must be Bearer KEY; got no key, or a wrong one"
                raise RequestError(words, status=401, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
            if scope["method"] not in ("GET", "HEAD"):
                body = Body(receive, self._most_bytes, BODY_SECONDS, a_piece=False)
                body.require_small(headers.get(b"content-length"))
                scope["body"], receive = body, body.receive
            await self._app(scope, receive, send)
        except RequestError as error:
            await refuse(error, receive, send)
