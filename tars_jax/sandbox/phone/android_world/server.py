"""AndroidWorld's HTTP server (`server/android_server.py`): its client drives a phone of ours as it drives an emulator.

Errors have FastAPI's form, {"detail": ...}: 422 for a parameter that is missing or no value of its type, 400 for an
action or a task that there is not, and 503 with the `kind` of a SandboxFailure, which is no score. Tasks are offered
by type, each with several instances (`PhoneTask`).
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.phone.android_world.actions import perform, read_action
from tars_jax.sandbox.phone.failures import SandboxFailure
from tars_jax.sandbox.phone.phone import Phone
from tars_jax.web.protocol import RequestError
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import JsonResponse, internal_error, read_json

FAMILY = "android_world"
COMBINATIONS, SEED = 2, 42  # AndroidWorld's own at its start
MOST_COMBINATIONS = 1000
BODY_BYTES, BODY_SECONDS = 1 << 20, 30.0
TRUE, FALSE = ("true", "1", "yes", "on", "t", "y"), ("false", "0", "no", "off", "f", "n")
Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(phone: Phone, families: Mapping[str, MakeSuite] | None = None, *, token: str | None = None) -> ASGIApp:
    """The application over a phone that has been started; after `/close` it answers nothing but errors.

    Args:
      families: makers of suites by the name of their family; the first at the start is "android_world", or the first.
      token: what `Authorization: Bearer` must show. None: whoever reaches the port; keep it on loopback then.
    """
    served = _Served(phone, families or {FAMILY: lambda combinations, seed: {}}, token)
    get, post = ["GET"], ["POST"]
    routes = [
        ("/reset", served.reset, post), ("/screenshot", served.screenshot, get),
        ("/execute_action", served.execute_action, post), ("/health", served.health, get),
        ("/close", served.close, post),
        ("/suite/task_list", served.task_list, get), ("/suite/task_length", served.task_length, get),
        ("/suite/reinitialize", served.reinitialize, get),
        ("/task/initialize", served.initialize, post), ("/task/tear_down", served.tear_down, post),
        ("/task/score", served.score, get), ("/task/goal", served.goal, get), ("/task/template", served.template, get),
    ]  # fmt: skip
    app = Starlette(
        routes=[Route(path, served.one_at_a_time(endpoint), methods=methods) for path, endpoint, methods in routes],
        exception_handlers={HTTPException: _http_error, RequestError: _request_error, InputError: _input_error,
                            SandboxFailure: _failure, Exception: internal_error},
    )  # fmt: skip
    app.router.redirect_slashes = False
    return _Admission(app)


class _Served:
    """The endpoints, and what they share. One request at a time acts on the phone."""

    def __init__(self, phone: Phone, families: Mapping[str, MakeSuite], token: str | None) -> None:
        self._families, self._token = families, token
        self._environment = PreparedPhone(phone)
        first = families[FAMILY] if FAMILY in families else next(iter(families.values()))
        self._suite: Suite = first(COMBINATIONS, SEED)
        self._closed = False
        self._lock = asyncio.Lock()

    def one_at_a_time(self, endpoint: Endpoint) -> Endpoint:
        async def admitted(request: Request) -> Response:
            if self._token is not None and request.headers.get("authorization") != f"Bearer {self._token}":
                raise HTTPException(401, "Authorization must be Bearer and the server's token")
            async with self._lock:
                if self._closed:
                    raise HTTPException(500, "Environment not initialized")
                return await endpoint(request)

        return admitted

    async def reset(self, request: Request) -> Response:
        go_home = _flag(request, "go_home")
        self._environment.answer = ""
        if go_home:
            await self._environment.phone.press_home()
        return _success(f"Environment reset with go_home={go_home}.")

    async def screenshot(self, request: Request) -> Response:
        phone = self._environment.phone
        wait = _flag(request, "wait_to_stabilize")
        image = (await phone.settle()).image if wait else await phone.screenshot()
        return await asyncio.to_thread(lambda: JsonResponse({"pixels": np.asarray(image).tolist()}))

    async def execute_action(self, request: Request) -> Response:
        values = await read_json(request)
        if not isinstance(values, dict):
            raise HTTPException(422, "the body must be an object")
        action = read_action(values)
        if action.action_type == "answer":
            self._environment.answer = action.text or ""
        else:
            await perform(self._environment.phone, action)
        return _success(f"Action {action.to_json()} executed.")

    async def health(self, request: Request) -> Response:
        return JsonResponse({"status": "success"})

    async def close(self, request: Request) -> Response:
        self._closed = True
        return JsonResponse({"status": "success"})

    async def task_list(self, request: Request) -> Response:
        names, most = list(self._suite), _integer(request, "max_index")
        return JsonResponse({"task_list": names if most > len(names) or most < 0 else names[:most]})

    async def task_length(self, request: Request) -> Response:
        return JsonResponse({"length": len(self._instances(request))})

    async def reinitialize(self, request: Request) -> Response:
        combinations, seed = _integer(request, "n_task_combinations", COMBINATIONS), _integer(request, "seed", SEED)
        family = request.query_params.get("task_family", FAMILY)
        if family not in self._families:
            raise HTTPException(400, f"Invalid task family: {family[:80]}")
        if not 1 <= combinations <= MOST_COMBINATIONS:
            raise HTTPException(422, f"n_task_combinations must be 1 to {MOST_COMBINATIONS}; got {combinations}")
        self._suite = self._families[family](combinations, seed)
        return _success(f"Task suite re-initialized with n_task_combinations={combinations}, seed={seed}.")

    async def initialize(self, request: Request) -> Response:
        self._environment.answer = ""
        await self._task(request).initialize_task(self._environment)
        return _success(f"Task {_named(request)} initialized.")

    async def tear_down(self, request: Request) -> Response:
        await self._task(request).tear_down(self._environment)
        return _success(f"Task {_named(request)} torn down.")

    async def score(self, request: Request) -> Response:
        return JsonResponse({"score": await self._task(request).is_successful(self._environment)})

    async def goal(self, request: Request) -> Response:
        return JsonResponse({"goal": self._task(request).goal})

    async def template(self, request: Request) -> Response:
        return JsonResponse({"template": self._task(request).template})

    def _instances(self, request: Request) -> Any:
        kind = _parameter(request, "task_type")
        if kind not in self._suite:
            raise HTTPException(400, f"task_type must be one of the suite's; got {kind[:80]!r}")
        return self._suite[kind]

    def _task(self, request: Request) -> PhoneTask:
        instances, index = self._instances(request), _integer(request, "task_idx")
        if not 0 <= index < len(instances):
            raise HTTPException(400, f"task_idx must be 0 to {len(instances) - 1}; got {index}")
        task: PhoneTask = instances[index]
        return task


class _Admission:
    """Around the application: foreign names (DNS rebinding) and large bodies stay outside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                headers = dict(scope["headers"])
                require_local_name(headers.get(b"host", b"").decode("latin-1"))
                body = Body(receive, BODY_BYTES, BODY_SECONDS, a_piece=False)
                body.require_small(headers.get(b"content-length"))
                receive = body.receive
            except RequestError as error:
                await _detail(error.status, error.message)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _success(message: str) -> Response:
    return JsonResponse({"status": "success", "message": message})


def _detail(status: int, detail: str, **more: Any) -> Response:
    return JsonResponse({"detail": detail, **more}, status_code=status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _detail(error.status_code, error.detail)


async def _request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return _detail(error.status, error.message)


async def _input_error(request: Request, error: Exception) -> Response:
    return _detail(400, str(error))


async def _failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, SandboxFailure)
    return _detail(503, str(error), kind=error.kind)


def _parameter(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if value is None:
        raise HTTPException(422, f"{name} must be given")
    return value


def _flag(request: Request, name: str) -> bool:
    value = _parameter(request, name).lower()
    if value not in TRUE + FALSE:
        raise HTTPException(422, f"{name} must be true or false; got {value[:80]!r}")
    return value in TRUE


def _integer(request: Request, name: str, default: int | None = None) -> int:
    value = _parameter(request, name) if default is None else request.query_params.get(name, str(default))
    try:
        return int(value[:20])
    except ValueError as error:
        raise HTTPException(422, f"{name} must be a whole number; got {value[:80]!r}") from error


def _named(request: Request) -> str:
    return f"{request.query_params['task_type']} {request.query_params['task_idx']}"


@dataclasses.dataclass
class PreparedPhone:
    """The phone as a task prepares and verifies it."""

    phone: Phone
    answer: str = ""  # the text of the last `answer` action; AndroidWorld's interaction_cache


class PhoneTask(Protocol):
    """One instance of a task."""

    @property
    def goal(self) -> str:
        """The instruction that the agent is given."""
        ...

    @property
    def template(self) -> str:
        """The goal with the names of its parameters in it."""
        ...

    async def initialize_task(self, environment: PreparedPhone) -> None: ...

    async def tear_down(self, environment: PreparedPhone) -> None: ...

    async def is_successful(self, environment: PreparedPhone) -> float:
        """0..1, read from the phone's state. Raises SandboxFailure where that cannot be read: no score."""
        ...


Suite = Mapping[str, Sequence[PhoneTask]]
MakeSuite = Callable[[int, int], Suite]  # takes instances per type, and a seed
