"""Clients that go away, and a server that is told to stop."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tars_jax.inference.engine import Engine
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]

ASKING = """
import sys, httpx
address, stream = sys.argv[1], sys.argv[2] == "stream"
body = {"model": "tiny", "messages": [{"role": "user", "content": "what"}], "max_tokens": 4000, "stream": stream}
with httpx.Client(base_url=address, timeout=600) as http:
    id = http.post("/v1/rl/sessions", json={"lease_seconds": 0.3}).json()["id"]
    print("asking", flush=True)
    with http.stream("POST", "/v1/chat/completions", json=body) as response:
        for _ in response.iter_bytes():
            print("streaming", flush=True)
"""

SERVING = """
import asyncio, os, signal, sys
from tars_jax.inference.config import ServerConfig
from tars_jax.inference.server.app import serve

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
    await asyncio.sleep(float(sys.argv[1]))
    await send({"type": "http.response.body", "body": b"ended"})

say = lambda words: print(words, flush=True)
def say_interrupted(words):
    print(words[:8], end="", flush=True)
    if "interrupted" in sys.argv and words.startswith("stopping:"):
        os.kill(os.getpid(), signal.SIGINT)
    say(words[8:])
serve(app, ServerConfig(port=0, stop_seconds=30), say, say_interrupted)
"""


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", *arguments], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.multiprocess
@pytest.mark.parametrize("how", ["stream", "whole"])
def test_a_killed_client_leaves_nothing(server: str, engine: Engine, idle: Callable[[], None], how: str) -> None:
    with process(ASKING, server, how) as client:
        assert client.stdout is not None and client.stdout.readline() == "asking\n"
        if how == "stream":
            assert client.stdout.readline() == "streaming\n"
        while engine.statistics().active == 0:
            time.sleep(0.01)
        client.send_signal(signal.SIGKILL)
        client.wait()
    sampled = engine.statistics().tokens_sampled
    idle()  # the answer of 4,000 tokens, and the session of the client's own
    assert engine.statistics().tokens_sampled - sampled < 4000
    metrics = httpx.get(f"{server}/metrics", timeout=600).text
    assert 'path="/v1/chat/completions",status="499"' in metrics


def test_a_client_that_stops_reading_is_gone_at_once(server: str, engine: Engine, idle: Callable[[], None]) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "what"}], "max_tokens": 4000, "stream": True}
    with httpx.stream("POST", f"{server}/v1/chat/completions", json={**body, "n": 3}, timeout=600) as response:
        pieces = response.iter_bytes()
        next(pieces)
        assert engine.statistics().sessions == 3
    idle()


@pytest.mark.multiprocess
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.first(1)
def test_a_server_that_is_told_to_stop_finishes_what_it_has_begun(number: signal.Signals) -> None:
    with process(SERVING, "1.5") as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with httpx.stream("GET", address, timeout=600) as response:
            pieces = response.iter_text()
            assert next(pieces) == "begun "
            server.send_signal(number)
            assert server.stdout.readline().startswith("stopping: no new requests; the 1 under way have 30 seconds")
            assert "".join(pieces) == "ended"
        assert server.wait(600) == 0


@pytest.mark.multiprocess
@pytest.mark.parametrize("when", ["after the first has been told", "interrupted"])
@pytest.mark.first(1)
def test_a_second_interrupt_does_not_wait(when: str) -> None:
    with process(SERVING, "600", when) as server:
        assert server.stdout is not None
        with httpx.stream("GET", server.stdout.readline().strip(), timeout=600) as response:
            pieces = response.iter_text()
            next(pieces)
            server.send_signal(signal.SIGTERM)
            if when != "interrupted":  # there the server interrupts itself in the midst of its first line
                assert server.stdout.readline().startswith("stopping:")
                server.send_signal(signal.SIGINT)
            assert server.wait(PATIENCE_S) == 0
            assert server.stdout.read().splitlines()[-1].startswith("stopping now")
