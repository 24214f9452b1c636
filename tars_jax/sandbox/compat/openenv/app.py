"""The application. A WebSocket has an episode of its own; the HTTP endpoints share one, and say so in /metadata."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from tars_jax import InputError
from tars_jax.sandbox.compat.openenv.episodes import Description, OpenEnvEpisode
from tars_jax.sandbox.compat.openenv.schema import VERSION, openapi
from tars_jax.sandbox.compat.openenv.session import OpenEnvSession, Wrong, read_message
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.named_sessions import LONGEST_S
from tars_jax.web.gate import Gate, Guarded, read_fields
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse

MOST_EPISODES = 16
STATUSES = {"VALIDATION_ERROR": 422, "EXECUTION_ERROR": 409, "CAPACITY_REACHED": 503}
_NO_MCP = "tools are called by step here; this server has no methods of MCP"
Make = Callable[[], Awaitable[OpenEnvEpisode]]


class OpenEnvServer:
    def __init__(self, description: Description, make: Make, most: int) -> None:
        self._description, self._make, self._most = description, make, most
        self._sessions = 0
        self._shared: OpenEnvSession | None = None
        self._sharing = asyncio.Lock()

    async def health(self, request: Request) -> Response:
        return JsonResponse({"status": "healthy"})

    async def metadata(self, request: Request) -> Response:
        notes = f"{self._description.description} Endpoints over HTTP share one episode; each WebSocket has its own."
        return JsonResponse({"name": self._description.name, "description": notes, "version": VERSION})

    async def schema(self, request: Request) -> Response:
        return JsonResponse(self._description.schemas())

    async def openapi(self, request: Request) -> Response:
        return JsonResponse(openapi(self._description))

    async def mcp(self, request: Request) -> Response:
        body = await read_fields(request)
        named = body.value("method") is not None
        error = {"code": -32601 if named else -32600, "message": _NO_MCP if named else "method must be there"}
        return JsonResponse({"jsonrpc": "2.0", "id": body.value("id"), "error": error})

    async def reset(self, request: Request) -> Response:
        return await self._over_http("reset", (await read_fields(request)).values)

    async def step(self, request: Request) -> Response:
        body = await read_fields(request)
        action = body.of_type("action", dict)
        limit_s = body.number("timeout_s", LONGEST_S, 0.001, LONGEST_S)
        try:
            async with asyncio.timeout(limit_s):
                return await self._over_http("step", action)
        except TimeoutError:
            return JsonResponse({"detail": f"the step took more than {limit_s:g} s"}, 504)

    async def state(self, request: Request) -> Response:
        return await self._over_http("state", {})

    async def _over_http(self, kind: str, data: Any) -> Response:
        try:
            async with self._sharing:
                if self._shared is None:
                    self._shared = await self._open()
            return JsonResponse(await self._shared.answer(kind, dict(data)))
        except Wrong as wrong:
            return JsonResponse({"detail": wrong.message, "code": wrong.code}, STATUSES.get(wrong.code, 500))

    async def websocket(self, websocket: WebSocket) -> None:
        await websocket.accept()
        session: OpenEnvSession | None = None
        with contextlib.suppress(WebSocketDisconnect):
            try:
                session = await self._open()
                await self._talk(websocket, session)
            except Wrong as wrong:
                await websocket.send_text(json.dumps(wrong.to_json()))
            finally:
                if session is not None:
                    await asyncio.shield(self._end(session))
            await websocket.close()

    async def _talk(self, websocket: WebSocket, session: OpenEnvSession) -> None:
        """Answers messages until the client says close, or is gone."""
        while True:
            try:
                try:
                    message = json.loads(await websocket.receive_text())
                except (ValueError, KeyError, RecursionError) as error:
                    raise Wrong("INVALID_JSON", f"a message must be JSON text; got {error!s:.80}") from error
                kind, data = read_message(message)
                if kind == "close":
                    return
                answer = await session.answer(kind, data)
                said = {"type": "state" if kind == "state" else "observation", "data": answer}
            except Wrong as wrong:
                said = wrong.to_json()
            await websocket.send_text(json.dumps(said))

    async def _open(self) -> OpenEnvSession:
        if self._sessions >= self._most:
            raise Wrong("CAPACITY_REACHED", f"there may be {self._most} episodes at once")
        self._sessions += 1
        try:
            return OpenEnvSession(await self._make())
        except (InputError, SandboxFailure) as error:
            self._sessions -= 1
            raise Wrong("FACTORY_ERROR", str(error)) from error
        except BaseException:
            self._sessions -= 1
            raise

    async def _end(self, session: OpenEnvSession) -> None:
        try:
            with contextlib.suppress(SandboxFailure):
                await session.close()
        finally:
            self._sessions -= 1

    async def close(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            await self._end(shared)


def openenv_app(description: Description, make: Make, gate: Gate, *, most: int = MOST_EPISODES) -> ASGIApp:
    """The application. `make` gives a new player of episodes, at most `most` at once."""
    server = OpenEnvServer(description, make, most)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await server.close()

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return JsonResponse({"detail": error.message}, 422 if error.status == 400 else error.status, error.headers)

    app = Starlette(
        routes=[
            *(Route(f"/{name}", getattr(server, name)) for name in ("health", "metadata", "schema", "state")),
            Route("/openapi.json", server.openapi),
            *(Route(f"/{name}", getattr(server, name), methods=["POST"]) for name in ("reset", "step", "mcp")),
            WebSocketRoute("/ws", server.websocket),
        ],
        exception_handlers={RequestError: invalid},
        lifespan=lifespan,
    )
    return Guarded(app, gate)
