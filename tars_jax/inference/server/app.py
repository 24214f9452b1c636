"""The policy server as an ASGI application: which path leads where, and the one form of errors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tars_jax.inference.config import ServerConfig
from tars_jax.inference.server.chat import Chat
from tars_jax.inference.server.constraints import ServedConstraints
from tars_jax.inference.server.episodes import EpisodeEndpoints
from tars_jax.inference.server.metrics import CONTENT_TYPE, HttpMetrics, engine_families, session_families
from tars_jax.inference.server.request_admission import REWARD_PATH, WEIGHTS_PATH, RequestAdmission
from tars_jax.inference.server.responses import Responses
from tars_jax.inference.server.served import Served
from tars_jax.inference.server.sessions import SessionEndpoints
from tars_jax.inference.server.weights import Weights
from tars_jax.web import running
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse, error_response, http_error, internal_error


def make_app(served: Served, config: ServerConfig) -> ASGIApp:
    """The application. The engine must run while it is served, and is not closed with it."""
    constraints, weights = ServedConstraints(served), Weights(served, config)
    sessions, episodes = SessionEndpoints(served, config, weights), EpisodeEndpoints(served, config, weights)
    chat = Chat(served, config, constraints, episodes)
    responses = Responses(served, chat, episodes)

    async def health(request: Request) -> Response:
        """503 once the engine has stopped: whoever watches may start the server again."""
        stopped = served.engine.stopped
        body = {"status": "stopped" if stopped else "ok", "model": served.name, "version": served.engine.version}
        return JsonResponse(body, status_code=503 if stopped else 200)

    async def request_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        if error.status in (408, 413):
            error.headers["Connection"] = "close"  # the rest of the body was not read
        return error_response(error)

    async def numbers(request: Request) -> Response:
        families = [
            *engine_families(served.engine),
            *session_families(len(sessions), sessions.expired),
            *metrics.families(),
        ]
        return Response("".join(families), media_type=CONTENT_TYPE)

    async def policy(request: Request) -> Response:
        """Answers with all that a client must know to write tokens for this policy."""
        engine = served.engine
        return JsonResponse(
            {
                "model": served.name,
                "version": engine.version,
                "weights": weights.word,
                "precision": engine.config.weights,
                "records_routes": engine.config.record_routes,
                "vocabulary": engine.model.vocabulary,
                "stop": served.stop,
                "image": engine.model.image_token,
                "max_length": engine.config.max_length,
                "max_new_tokens": engine.config.max_new_tokens,
                "agent": served.agent,
                "screenshot": served.screenshot,
            }
        )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with sessions, episodes:
            yield

    routes = [
        Route("/health", health, methods=["GET"]),
        Route("/metrics", numbers, methods=["GET"]),
        Route("/v1/models", chat.models, methods=["GET"]),
        Route("/v1/models/{name:path}", chat.model, methods=["GET"]),
        Route("/v1/chat/completions", chat.complete, methods=["POST"]),
        Route("/v1/responses", responses.create, methods=["POST"]),
        Route("/v1/responses/{id}", responses.show, methods=["GET"]),
        Route("/v1/responses/{id}", responses.delete, methods=["DELETE"]),
        Route("/v1/rl/policy", policy, methods=["GET"]),
        Route("/v1/rl/sessions", sessions.create, methods=["POST"]),
        Route("/v1/rl/sessions/{id}", sessions.delete, methods=["DELETE"]),
        Route("/v1/rl/sessions/{id}/respond", sessions.respond, methods=["POST"]),
        Route("/v1/rl/sessions/{id}/fork", sessions.fork, methods=["POST"]),
        Route("/v1/rl/episodes", episodes.create, methods=["POST"]),
        Route("/v1/rl/episodes/{id}", episodes.show, methods=["GET"]),
        Route("/v1/rl/episodes/{id}/finish", episodes.finish, methods=["POST"]),
        Route(REWARD_PATH, episodes.reward, methods=["POST"]),
        Route("/v1/rl/constraints/{name}", constraints.put, methods=["PUT"]),
        Route(WEIGHTS_PATH, weights.show, methods=["GET"]),
        Route(WEIGHTS_PATH, weights.load, methods=["POST"]),
        Route(WEIGHTS_PATH, weights.push, methods=["PUT"]),
    ]
    metrics = HttpMetrics(routes)
    app = Starlette(
        routes=routes,
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return RequestAdmission(app, config, metrics, episodes.has_key)


# The engine's thread and the event loop take turns at Python's lock. Python's own 5 ms would be paid for each chunk.
SWITCH_SECONDS = 0.0005


def serve(app: ASGIApp, config: ServerConfig, on_start: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Like web.running.serve."""
    with _quick_switches():
        running.serve(app, config, on_start, say, certificate=config.certificate)


@contextlib.contextmanager
def serving(app: ASGIApp, config: ServerConfig) -> Iterator[str]:
    """Like web.running.serving."""
    with _quick_switches(), running.serving(app, config, certificate=config.certificate) as address:
        yield address


@contextlib.contextmanager
def _quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
