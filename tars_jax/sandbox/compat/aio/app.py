"""The application: AIO's endpoints over one machine. What a computer has no part for answers 501 and says so."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tars_jax.sandbox.compat.aio.about import About
from tars_jax.sandbox.compat.aio.answers import absent, answering, invalid
from tars_jax.sandbox.compat.aio.bash import BashRoutes
from tars_jax.sandbox.compat.aio.browser import BrowserRoutes
from tars_jax.sandbox.compat.aio.browser_page import BrowserPageRoutes, Shows
from tars_jax.sandbox.compat.aio.browser_tabs import Tabbed, TabRoutes
from tars_jax.sandbox.compat.aio.convert import Conversions
from tars_jax.sandbox.compat.aio.files import FileRoutes
from tars_jax.sandbox.compat.aio.kernels import KernelRoutes
from tars_jax.sandbox.compat.aio.mcp import HasMcpTools, McpRoutes
from tars_jax.sandbox.compat.aio.nodejs import NodeRoutes
from tars_jax.sandbox.compat.aio.shells import ShellRoutes
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.web.gate import Gate, Guarded
from tars_jax.web.protocol import RequestError

SERVES = "sandbox, shell, bash, file, jupyter, code, nodejs, browser (page, tabs) and mcp are"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def aio_app(
    machine: GuestMachine,
    gate: Gate | None,
    *,
    page: Shows | None = None,
    browser: Tabbed | None = None,
    servers: Sequence[HasMcpTools] = (),
) -> ASGIApp:
    """The application; machine and page stay their owner's.

    `page`: what /v1/browser shows and acts on; None: there is no browser. `browser`: of which `page` shows the screen,
    for its pages and tabs; None: the page is the only one. `servers`: MCP servers that run inside. The
    client's token goes into `headers`.
    """
    shells, bash, kernels, nodejs = (
        ShellRoutes(machine),
        BashRoutes(machine),
        KernelRoutes(machine),
        NodeRoutes(machine),
    )

    async def other(request: Request) -> Response:
        raise absent(f"/v1/{request.path_params['path'][:100]}", SERVES)

    async def error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return invalid(error)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for part in (shells, bash, kernels, nodejs):
            await part.close()

    app = Starlette(
        routes=[
            *About(machine).routes(), *shells.routes(), *bash.routes(), *kernels.routes(), *nodejs.routes(),
            *FileRoutes(machine).routes(), *BrowserRoutes(page).routes(), *BrowserPageRoutes(browser or page).routes(),
            *TabRoutes(page, browser).routes(),
            *McpRoutes(servers).routes(), *Conversions(machine, browser or page).routes(),
            Route("/v1/{path:path}", answering(other), methods=METHODS),
        ],
        exception_handlers={RequestError: error},
        lifespan=lifespan,
    )  # fmt: skip
    return Guarded(app, gate)
