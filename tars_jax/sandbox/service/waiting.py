"""Work for a client that may leave before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from tars_jax.web.protocol import RequestError

T = TypeVar("T")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Ends what a client waits for when it has left: nobody would know of what came of it.

    What is ended undoes what it has done.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RequestError("the client left before it was answered", status=499)
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    """The body has been read: what comes behind it is the client's end."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
