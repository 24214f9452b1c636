"""The page's server: on loopback, behind a key in its address, http://127.0.0.1:PORT/KEY/.

| method and path | what it does |
|---|---|
| `GET ` | the page; `review.js`, `review.css` |
| `GET state` | the annotation, with the points of each step's actions |
| `GET frames/NAME` | a picture of a step |
| `GET voice?begins=S&ends=S` | what was said in between, as WAV |
| `POST steps/ID`, `steps/ID/merge`, `about` | a change (changes.py) of the `revision` that the page has seen |
| `POST undo` | the last change is taken back |
| `POST finish` | the data set is written, if every step has been accepted |

A change that comes from an older revision is refused (409): two pages are open, and one of them shows what is not so.
"""

from __future__ import annotations

import hmac
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.agent.actions import Action, Point
from tars_jax.annotation.in_situ.annotated import RecordingAnnotation, read_actions, save_annotation
from tars_jax.annotation.in_situ.recording import PersonRecording
from tars_jax.annotation.in_situ.review.changes import change_about, change_step, merge_step
from tars_jax.annotation.in_situ.voice import RATE, read_voice_between
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import JsonResponse, http_error, internal_error, read_json, refuse

_FOLDER = Path(__file__).parent
_PAGE = ("review.html", "review.js", "review.css")
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
MOST_BODY, BODY_S = 1 << 20, 30.0
LONGEST_VOICE_S = 120.0
MOST_UNDONE = 200
_HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; media-src 'self' blob:",
}  # fmt: skip


class ReviewedRecording:
    """An annotation under review. Each change is written before it is answered."""

    def __init__(
        self,
        annotation: RecordingAnnotation,
        recording: PersonRecording,
        file: Path,
        finish: Callable[[RecordingAnnotation], str],
        style: str,
    ) -> None:
        """`file`: where changes are kept; `finish`: writes the data set and says where; `style`: CSS of the report."""
        self._annotation, self._recording, self._file = annotation, recording, file
        self._finish, self._style = finish, style
        self._before: list[RecordingAnnotation] = []
        self._lock = threading.Lock()

    @property
    def annotation(self) -> RecordingAnnotation:
        return self._annotation

    def app(self, key: str) -> ASGIApp:
        post = ["POST"]
        routes = [
            Route("/", self._page), Route("/{name}", self._page, methods=["GET"]),
            Route("/frames/{name}", self._frame), Route("/about", self._about, methods=post),
            Route("/steps/{id:int}", self._step, methods=post), Route("/undo", self._undo, methods=post),
            Route("/steps/{id:int}/merge", self._merge, methods=post), Route("/finish", self._end, methods=post),
        ]  # fmt: skip
        handlers: dict[Any, Any] = {HTTPException: http_error, 500: internal_error, RequestError: _refused}
        return _Guarded(Starlette(routes=routes, exception_handlers=handlers), key)

    # ---- what is shown

    async def _page(self, request: Request) -> Response:
        name = request.path_params.get("name", "review.html")
        if name == "state":
            return JsonResponse(self._state())
        if name == "voice":
            return await self._voice(request)
        if name not in _PAGE:
            raise HTTPException(404)
        content = (_FOLDER / name).read_text(encoding="utf-8")
        if name == "review.css":
            content = f"{self._style}\n{content}"
        return Response(content, media_type=_KINDS[Path(name).suffix], headers=_HEADERS)

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._annotation)
        for step in state["steps"]:
            step["points"] = points_of(step["actions"])
        for given, sentence in zip(state["sentences"], self._annotation.sentences, strict=True):
            given["said"] = sentence.said
        return {**state, "reviewed": self._annotation.is_reviewed}

    async def _frame(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in {step.frame for step in self._annotation.steps}:
            raise HTTPException(404)
        try:
            content = self._recording.file("frames", name).read_bytes()
        except OSError as error:
            raise HTTPException(404, f"{name} is not there any more") from error
        return Response(content, media_type="image/png", headers={**_HEADERS, "Cache-Control": "private, max-age=3600"})

    async def _voice(self, request: Request) -> Response:
        try:
            begins, ends = (float(request.query_params[name]) for name in ("begins", "ends"))
        except (KeyError, ValueError) as error:
            raise RequestError("voice must have begins and ends, in seconds") from error
        if not 0 <= begins < ends <= begins + LONGEST_VOICE_S:
            raise RequestError(f"voice must be of at most {LONGEST_VOICE_S:g} seconds; got {begins} to {ends}")
        samples = await run_in_threadpool(read_voice_between, self._recording, begins, ends)
        return Response(_wav(samples), media_type="audio/wav", headers=_HEADERS)

    # ---- what is changed

    async def _step(self, request: Request) -> Response:
        id = request.path_params["id"]
        return await self._changed(request, lambda now, given: change_step(now, id, given))

    async def _merge(self, request: Request) -> Response:
        id = request.path_params["id"]
        return await self._changed(request, lambda now, given: merge_step(now, id))

    async def _about(self, request: Request) -> Response:
        return await self._changed(request, change_about)

    async def _undo(self, request: Request) -> Response:
        def before(now: RecordingAnnotation, given: dict[str, Any]) -> RecordingAnnotation:
            if not self._before:
                raise InputError("undo must have a change to take back; got none")
            return msgspec.structs.replace(self._before[-1], revision=now.revision + 1)

        return await self._changed(request, before, undo=True)

    async def _end(self, request: Request) -> Response:
        def finish() -> str:
            with self._lock:
                if left := sum(not step.accepted for step in self._annotation.kept):
                    raise RequestError(
                        f"every step must be accepted or deleted before the data is written; {left} are not"
                    )
                try:
                    return self._finish(self._annotation)
                except InputError as error:
                    raise RequestError(str(error)) from error

        return JsonResponse({"written": await run_in_threadpool(finish)})

    async def _changed(
        self,
        request: Request,
        change: Callable[[RecordingAnnotation, dict[str, Any]], RecordingAnnotation],
        *,
        undo: bool = False,
    ) -> Response:
        fields = RequestFields(await read_json(request))
        revision = fields.value("revision")
        given = {name: value for name, value in fields.values.items() if name != "revision"}

        def apply() -> None:
            with self._lock:
                if revision != self._annotation.revision:
                    words = "this page shows an older state; it is loaded anew"
                    raise RequestError(words, "revision", status=409, code="older")
                try:
                    new = change(self._annotation, given)
                except InputError as error:
                    raise RequestError(str(error), next(iter(given), None)) from error
                save_annotation(self._file, new)
                if undo:
                    self._before.pop()
                else:
                    self._before = [*self._before[-MOST_UNDONE:], self._annotation]
                self._annotation = new

        await run_in_threadpool(apply)
        return JsonResponse(self._state())


class _Guarded:
    """Whoever does not have the key in the address hears of nothing."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app, self._key = app, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            require_local_name(headers.get(b"host", b"").decode("latin-1"))
            _, key, *rest = [*scope["path"].split("/", 2), "", ""][:3]
            if not hmac.compare_digest(key.encode(), self._key.encode()):
                raise RequestError("there is nothing here without the key that stands in the address", status=404)
            if scope["method"] not in ("GET", "HEAD"):
                body = Body(receive, MOST_BODY, BODY_S, a_piece=True)
                body.require_small(headers.get(b"content-length"))
                receive = body.receive
            await self._app({**scope, "path": f"/{rest[0]}", "raw_path": f"/{rest[0]}".encode()}, receive, send)
        except RequestError as error:
            await refuse(error, receive, send)


def points_of(actions: str) -> list[list[float]]:
    """The points of each action of a text, [x, y] or from there to [x, y, x, y], on the grid; none for what is none."""
    if not actions:
        return []
    return [place for action in read_actions(actions) if (place := _place(action))]


def _place(action: Action) -> list[float]:
    points = [value for value in vars(action).values() if isinstance(value, Point)]
    return [side for point in points for side in (point.x, point.y)]


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return JsonResponse(error.body(), status_code=error.status)


def _wav(samples: np.ndarray) -> bytes:
    import soundfile

    content = io.BytesIO()
    soundfile.write(content, samples, RATE, format="WAV", subtype="PCM_16")
    return content.getvalue()
