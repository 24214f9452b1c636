"""A server that is told to stop while somebody listens: dropped without a word of an error."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest

from tars_jax import InputError
from tars_jax.web.listening import ListenAddress, address, listen
from tars_jax.web.running import serving, serving_here


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


async def lingering(scope: Any, receive: Any, send: Any) -> None:
    """As what has something to end first when it is cancelled."""
    if scope["type"] == "lifespan":
        return await endless(scope, receive, send)
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.3)


def test_what_ends_late_is_dropped_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async def asked() -> None:
        listening = listen(ListenAddress(stop_seconds=1))
        with listening:
            async with httpx.AsyncClient() as client, serving_here(lingering, ListenAddress(stop_seconds=1), listening):
                asking = asyncio.create_task(client.get(address(listening, None), timeout=60))
                await asyncio.sleep(0.5)
            await asyncio.sleep(0.6)
            with pytest.raises(httpx.HTTPError):
                await asking

    asyncio.run(asked())
    assert not caplog.records


def test_an_empty_host_is_not_every_address() -> None:
    with pytest.raises(InputError, match="host must be a name or an address; got ''"):
        listen(ListenAddress(host=""))


def test_a_stream_is_dropped_when_its_time_is_over(caplog: pytest.LogCaptureFixture) -> None:
    began, ended = threading.Event(), list[type[Exception]]()

    def hear(address: str) -> None:
        try:
            with httpx.stream("GET", address, timeout=60) as answer:
                for _ in answer.iter_bytes():
                    began.set()
        except httpx.HTTPError as error:
            ended.append(type(error))

    with serving(endless, ListenAddress(stop_seconds=1)) as at:
        listener = threading.Thread(target=hear, args=(at,))
        listener.start()
        assert began.wait(60)
    listener.join()
    assert ended == [httpx.RemoteProtocolError] and not caplog.records
