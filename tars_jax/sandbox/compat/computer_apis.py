"""One computer behind all of these APIs: /aio, /swe_rex, and /openenv, where each episode has a computer of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax.sandbox.compat.aio import aio_app
from tars_jax.sandbox.compat.openenv import openenv_app
from tars_jax.sandbox.compat.openenv.computer import ComputerEpisode, describe
from tars_jax.sandbox.compat.openenv.episodes import OpenEnvEpisode
from tars_jax.sandbox.compat.swe_rex import swe_rex_app
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.web.gate import Gate
from tars_jax.web.responses import JsonResponse


class _Later:
    """An application that is there when the computer is."""

    app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None
        await self.app(scope, receive, send)


class ComputerApis:
    """Opens the computer when the server starts, and closes it with the server."""

    def __init__(self, spec: ContainerSpec, gate: Gate, isolation: str = "auto") -> None:
        self._spec, self._gate, self._isolation = spec, gate, isolation
        self.computer: Computer | None = None
        self._aio, self._swe_rex, self._openenv = _Later(), _Later(), _Later()

    def app(self) -> ASGIApp:
        async def health(request: Request) -> Response:
            return JsonResponse({"status": "ok"})

        return Starlette(
            routes=[
                Route("/health", health), Mount("/aio", self._aio), Mount("/swe_rex", self._swe_rex),
                Mount("/openenv", self._openenv),
            ],
            lifespan=self._lifespan,
        )  # fmt: skip

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with Computers(self._isolation) as computers:
            self.computer = await computers.open(self._spec)

            async def episode() -> OpenEnvEpisode:
                return ComputerEpisode(computers, self._spec)

            self._aio.app = aio_app(self.computer.machine, self._gate)
            self._swe_rex.app = swe_rex_app(self.computer.machine, self._gate)
            self._openenv.app = openenv_app(describe(), episode, self._gate)
            try:
                yield
            finally:
                await self.computer.close()
