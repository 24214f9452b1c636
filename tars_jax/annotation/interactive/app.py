"""The HTTP side: keys and roles, sessions, events, reviews. Errors are {"error": "one sentence"}.

| path | |
|---|---|
| `GET /`, `/static/...` | the page |
| `POST /api/login`, `GET /api/tasks`, `POST /api/sessions` | who, what, begin |
| `/api/sessions/ID/...` | one session: what is shown, what is decided, who has it |
| `/api/episodes`, `/api/disagreements`, `/api/log` | reviews |
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tars_jax import InputError
from tars_jax.annotation.interactive import completion, inputs
from tars_jax.annotation.interactive.completion import answer_text, complete_calls
from tars_jax.annotation.interactive.core import Conflict
from tars_jax.annotation.interactive.events import frames, states
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.people import COOKIE, People, Person, Role, cookie_of
from tars_jax.annotation.interactive.reviews import disagreements
from tars_jax.annotation.interactive.service import AnnotationService, NoSession
from tars_jax.annotation.interactive.view import episode_view, lost_view, state_of, step_view
from tars_jax.annotation.interactive.wire import (
    HEADERS,
    RequestGuard,
    answer,
    internal_error,
    not_found,
    read_fields,
    refused,
    require_no_more,
    step_of,
)
from tars_jax.environment import EnvironmentFailure
from tars_jax.json_fields import Fields
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse

PAGE = Path(__file__).parent / "page"
MOST_TEXT = 20_000  # characters of an answer
Endpoint = Callable[[Request, Person], Awaitable[Response]]


class AnnotationApp:
    """Endpoints of one service."""

    def __init__(self, service: AnnotationService, people: People, style: str = "") -> None:
        """`style`: CSS of the report, which the page's own follows."""
        self._service, self._people, self._style = service, people, style

    def app(self, lifespan: Callable[[], contextlib.AbstractAsyncContextManager[None]] | None = None) -> ASGIApp:
        """`lifespan`: what is open while the server runs, around the service."""

        @contextlib.asynccontextmanager
        async def living(app: Starlette) -> AsyncIterator[None]:
            async with contextlib.nullcontext() if lifespan is None else lifespan():
                await self._service.start()
                try:
                    yield
                finally:
                    await self._service.close()

        def post(path: str, endpoint: Endpoint, role: Role = "annotator") -> Route:
            return Route(path, self._checked(endpoint, role), methods=["POST"])

        def get(path: str, endpoint: Endpoint, role: Role = "annotator") -> Route:
            return Route(path, self._checked(endpoint, role), methods=["GET"])

        one = "/api/sessions/{id}"
        routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/static/{name:path}", self._page, methods=["GET"]),
            Route("/api/login", self._login, methods=["POST"]),
            get("/api/tasks", self._tasks),
            post("/api/sessions", self._open),
            get(one, self._state),
            get(f"{one}/events", self._events),
            get(f"{one}/live", self._live),
            get(f"{one}/screen.png", self._screen),
            post(f"{one}/decide", self._decide),
            post(f"{one}/propose", self._propose),
            post(f"{one}/complete", self._complete),
            post(f"{one}/undo", self._undo),
            post(f"{one}/take_over", self._take_over),
            post(f"{one}/input", self._input),
            post(f"{one}/secret", self._secret),
            post(f"{one}/give_back", self._give_back),
            post(f"{one}/end", self._end),
            post(f"{one}/release", self._release),
            get("/api/episodes", self._episodes),
            get("/api/episodes/{id}", self._episode),
            get("/api/episodes/{id}/screens/{name}", self._kept_screen),
            post("/api/episodes/{id}/review", self._review, "reviewer"),
            get("/api/disagreements", self._disagreements, "reviewer"),
            get("/api/log", self._log, "owner"),
        ]
        handlers: dict[Any, Any] = {
            HTTPException: not_found,
            500: internal_error,
            RequestError: refused,
            InputError: refused,
        }
        return RequestGuard(Starlette(routes=routes, exception_handlers=handlers, lifespan=living))

    # ---- who

    def _checked(self, endpoint: Endpoint, role: Role) -> Callable[[Request], Awaitable[Response]]:
        @functools.wraps(endpoint)
        async def checked(request: Request) -> Response:
            headers = request.headers
            cookie = request.cookies.get(COOKIE, "")
            person = self._people.by_headers(headers.get("authorization", ""), cookie)
            if person is None:
                raise RequestError("the key must be one of this service: open the address that it printed", status=401)
            if not person.may(role):
                raise RequestError(f"this takes the role {role}; {person.name} is {person.role}", status=403)
            try:
                return await endpoint(request, person)
            except NoSession as error:
                raise RequestError(str(error), status=404) from error
            except Conflict as error:
                raise RequestError(str(error), status=409) from error
            except InputError as error:
                raise RequestError(str(error)) from error
            except EnvironmentFailure as error:
                raise RequestError(f"the environment failed: {error}", status=503) from error
            except OSError as error:
                words = f"nothing is kept, as the disk refuses it: {error.strerror or error}"
                raise RequestError(words, status=507) from error

        return checked

    async def _login(self, request: Request) -> Response:
        fields = await read_fields(request)
        person = self._people.with_key(fields.text("key"))
        if person is None:
            raise RequestError("key must be one of this service; the address that it printed has it", status=401)
        response = JsonResponse({"name": person.name, "role": person.role}, headers=HEADERS)
        key = cookie_of(self._people.keys[person.name])
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, key, httponly=True, samesite="strict", secure=secure, max_age=30 * 86400)
        return response

    # ---- tasks and sessions

    async def _tasks(self, request: Request, person: Person) -> Response:
        now = self._service._clock()
        rows = [
            {
                "task": row.task.id, "environment": row.task.environment, "instruction": row.task.instruction,
                "failures": row.failures, "leased_by": row.leased(now), "done": row.done,
                "unfinished": row.session is not None,
            }
            for row in self._service.board.rows.values()
        ]  # fmt: skip
        policy = self._service.setting.policy
        return answer({"tasks": rows, "policy": {"name": policy.name, "version": policy.version}})

    async def _open(self, request: Request, person: Person) -> Response:
        fields = await read_fields(request, empty=True)
        id, live = await self._service.open(person, fields.optional_text("task", 500))
        return self._shown(id, live)

    async def _state(self, request: Request, person: Person) -> Response:
        id = request.path_params["id"]
        return self._shown(id, self._service.session(id, person, acts=False))

    async def _events(self, request: Request, person: Person) -> Response:
        id = request.path_params["id"]
        live = self._service.session(id, person, acts=False)
        mine = live.annotator == person.name
        return states(self._service, id, live, counted=mine)

    async def _live(self, request: Request, person: Person) -> Response:
        id = request.path_params["id"]
        return frames(self._service, id, self._service.session(id, person, acts=False))

    async def _screen(self, request: Request, person: Person) -> Response:
        live = self._service.session(request.path_params["id"], person, acts=False)
        if live.state.secret:
            raise RequestError("pictures are withheld while a secret is typed", status=409)
        png = live.screenshot
        if not png:
            raise RequestError("the episode has no screen", status=404)
        asked = request.query_params.get("v", str(live.screen_version))
        fresh = asked == str(live.screen_version)
        kept = {**HEADERS, "Cache-Control": "private, max-age=600" if fresh else "no-store"}
        return Response(png, media_type="image/png", headers=kept)

    async def _decide(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        step, candidate = step_of(fields), fields.integer("candidate", None, 0, 1000)
        text = fields.optional_text("text", MOST_TEXT)
        thought, calls = fields.optional_text("thought", MOST_TEXT), fields.optional_text("action", MOST_TEXT)
        if calls is not None:
            grammar, space = live.setting.agent.grammar, live.record.space
            text = answer_text(thought or "", calls, grammar, space, live.pixel_size())
        seconds = fields.number("seconds", 0.0, 0.0, 1e6)
        keystrokes = fields.integer("keystrokes", 0, 0, 10**6) or 0
        require_no_more(fields)
        live.decide(step, candidate, text, live.seconds_of(seconds), keystrokes, person.name)
        return self._shown(request.path_params["id"], live)

    async def _propose(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        live.propose_again(step_of(fields))
        return self._shown(request.path_params["id"], live)

    async def _complete(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        calls = fields.optional_text("action", MOST_TEXT)
        if calls is not None:
            cursor = fields.integer("cursor", len(calls), 0, MOST_TEXT) or 0
            found = complete_calls(calls, cursor, live.record.space)
            return answer({"completions": [dataclasses.asdict(each) for each in found], "error": None})
        text = fields.text("text", "")[: MOST_TEXT + 1]
        cursor = fields.integer("cursor", len(text), 0, MOST_TEXT) or 0
        found = completion.complete(text, cursor, live.setting.agent.grammar, live.record.space)
        thought, action, error, marks = live.read(text)
        return answer(
            {
                "completions": [dataclasses.asdict(each) for each in found], "error": error or None,
                "thought": thought, "action": action, "marks": [dataclasses.asdict(mark) for mark in marks],
            }
        )  # fmt: skip

    async def _undo(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        await live.undo(step_of(fields))
        return self._shown(request.path_params["id"], live)

    async def _take_over(self, request: Request, person: Person) -> Response:
        live, _ = await self._acting(request, person)
        await live.take_over(person.name)
        self._service.audit(person, "took over", session=request.path_params["id"])
        return self._shown(request.path_params["id"], live)

    async def _input(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        given = {name: fields.value(name) for name in fields.names() if name not in ("seconds_taken", "keystrokes")}
        seconds = fields.number("seconds_taken", 0.0, 0.0, 1e6)
        keystrokes = fields.integer("keystrokes", 0, 0, 10**6) or 0
        action = inputs.action_of(given, live.record.space)
        await live.act(action, live.seconds_of(seconds), keystrokes, person.name)
        return self._shown(request.path_params["id"], live)

    async def _secret(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        if fields.value("on") is None:
            raise RequestError("on must be true or false; got nothing", "on")
        live.set_secret(fields.flag("on"))
        self._service.audit(person, "secret", session=request.path_params["id"], on=live.state.secret)
        return self._shown(request.path_params["id"], live)

    async def _give_back(self, request: Request, person: Person) -> Response:
        live, _ = await self._acting(request, person)
        await live.give_back()
        self._service.audit(person, "gave back", session=request.path_params["id"])
        return self._shown(request.path_params["id"], live)

    async def _end(self, request: Request, person: Person) -> Response:
        live, fields = await self._acting(request, person)
        success = fields.flag("success") if fields.value("success") is not None else None
        await live.end(success, fields.text("note", "")[:2000])
        self._service.audit(person, "ended", session=request.path_params["id"], success=success)
        return self._shown(request.path_params["id"], live)

    async def _release(self, request: Request, person: Person) -> Response:
        await self._acting(request, person)
        await self._service.release(request.path_params["id"], person)
        return answer({"released": request.path_params["id"]})

    # ---- reviews

    async def _episodes(self, request: Request, person: Person) -> Response:
        found = await asyncio.to_thread(self._service.storage.episodes)
        mine = [(id, kept) for id, kept in found.items() if person.may("reviewer") or person.name in kept.annotators]
        damaged = self._service.storage.damaged if person.may("reviewer") else {}
        rows = [*(episode_view(id, kept) for id, kept in mine), *(lost_view(id, why) for id, why in damaged.items())]
        return answer({"episodes": rows})

    async def _episode(self, request: Request, person: Person) -> Response:
        id = request.path_params["id"]
        kept = self._own(id, person)
        names = [self._service.storage.screen_of(kept, number) for number in range(len(kept.record.steps) + 1)]
        steps = [step_view(id, kept, number, done, names[number]) for number, done in enumerate(kept.record.steps)]
        final = f"/api/episodes/{id}/screens/{names[-1]}" if names[-1] else None
        return answer({**episode_view(id, kept), "count": len(steps), "steps": steps, "final_screen": final})

    async def _kept_screen(self, request: Request, person: Person) -> Response:
        id = request.path_params["id"]
        self._own(id, person)
        content = self._service.storage.screen(id, request.path_params["name"]).read_bytes()
        return Response(content, media_type="image/png", headers={**HEADERS, "Cache-Control": "private, max-age=3600"})

    def _own(self, id: str, person: Person) -> Any:
        try:
            kept = self._service.storage.episode(id)
        except InputError as error:
            raise NoSession(str(error)) from error
        if person.name not in kept.annotators and not person.may("reviewer"):
            raise RequestError(
                f"this episode is that of {', '.join(kept.annotators)}; others' take the role reviewer", status=403
            )
        return kept

    async def _review(self, request: Request, person: Person) -> Response:
        id, fields = request.path_params["id"], await read_fields(request)
        self._own(id, person)
        if fields.value("agree") is None:
            raise RequestError("agree must be true or false; got nothing", "agree")
        agree, note = fields.flag("agree"), fields.text("note", "")[:2000]
        self._service.review(id, person, agree, note)
        return answer(episode_view(id, self._service.storage.episode(id)))

    async def _disagreements(self, request: Request, person: Person) -> Response:
        return answer(disagreements(await asyncio.to_thread(self._service.storage.episodes)))

    async def _log(self, request: Request, person: Person) -> Response:
        return answer({"log": self._service.audited()})

    # ---- the page

    async def _page(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        file = PAGE / name
        if ".." in Path(name).parts or not file.is_file() or not file.resolve().is_relative_to(PAGE.resolve()):
            raise HTTPException(404)
        content = file.read_bytes()
        if name.endswith(".css") and self._style:
            content = f"{self._style}\n".encode() + content
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(content, media_type=kind, headers=HEADERS)

    # ---- what endpoints share

    async def _acting(self, request: Request, person: Person) -> tuple[LiveEpisode, Fields]:
        live = self._service.session(request.path_params["id"], person)
        return live, await read_fields(request, empty=True)

    def _shown(self, id: str, live: LiveEpisode) -> Response:
        return answer(state_of(id, live, self._service.notes.get(id)))
