"""A server of AndroidWorld's HTTP form that does as a test says: no phone is behind it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving

Answer = Callable[[dict[str, Any]], Any]
PICTURE = [[[red, 0, 200] for red in (10, 20, 30)] for _ in range(4)]  # 3 wide, 4 high


class FakeServer:
    """Two tasks of two instances; `answers` takes the place of what it says at a path: a value, a function of the
    query, or (status, value). It remembers what was asked."""

    def __init__(self) -> None:
        self.seed, self.asked, self.actions = 42, list[str](), list[Any]()
        self.answers: dict[str, Any] = {
            "/health": {"status": "success"},
            "/suite/task_list": {"task_list": ["ClockVerify", "ContactsAdd"]},
            "/suite/task_length": {"length": 2},
            "/suite/reinitialize": self._reinitialize,
            "/task/goal": lambda query: {"goal": f"{query['task_type']} {query['task_idx']} of {self.seed}"},
            "/task/initialize": {"status": "success"},
            "/task/tear_down": {"status": "success"},
            "/task/score": lambda query: {"score": float("Verify" in query["task_type"] or bool(self.actions))},
            "/reset": {"status": "success"},
            "/screenshot": {"pixels": PICTURE},
            "/execute_action": {"status": "success"},
        }

    def _reinitialize(self, query: dict[str, Any]) -> Any:
        self.seed = int(query["seed"])
        return {"status": "success"}

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        self.asked.append(path)
        if path == "/execute_action":
            self.actions.append(await request.json())
        found = self.answers.get(path, (404, {"detail": "Not Found"}))
        if callable(found):
            found = found(dict(request.query_params))
        if isinstance(found, float):
            await asyncio.sleep(found)
            found = {"status": "success"}
        status, said = found if isinstance(found, tuple) else (200, found)
        return PlainTextResponse(said, status) if isinstance(said, str) else JSONResponse(said, status)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        app = Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])
        with serving(app, ListenAddress(stop_seconds=1), plain=True) as address:
            yield address
