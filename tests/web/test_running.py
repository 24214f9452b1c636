"""A server that is told to stop while somebody listens: dropped without a word of an error."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import Any

import httpx
import pytest

from tars_jax.web.running import serving


@dataclasses.dataclass(frozen=True)
class Address:
    host: str = "127.0.0.1"
    port: int = 0
    stop_seconds: float = 1.0


async def endless(scope: Any, receive: Any, send: Any) -> None:
    """As a page's event stream."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b": still here\n", "more_body": True})
        await asyncio.sleep(0.02)


def test_a_stream_is_dropped_when_its_time_is_over(caplog: pytest.LogCaptureFixture) -> None:
    began, ended = threading.Event(), list[type[Exception]]()

    def listen(address: str) -> None:
        try:
            with httpx.stream("GET", address, timeout=60) as answer:
                for _ in answer.iter_bytes():
                    began.set()
        except httpx.HTTPError as error:
            ended.append(type(error))

    with serving(endless, Address()) as address:
        listener = threading.Thread(target=listen, args=(address,))
        listener.start()
        assert began.wait(60)
    listener.join()
    assert ended == [httpx.RemoteProtocolError] and not caplog.records
