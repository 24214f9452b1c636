"""Whatever is sent, the answer is an answer or a 4xx in the form of errors, and nothing is left behind."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tars_jax.agent.computer_form import ComputerForm
from tars_jax.inference.data_urls import encode_image
from tars_jax.inference.server import Served, make_app, serving
from tests.inference.server.conftest import SERVER

CHAT, RESPOND = "/v1/chat/completions", "/v1/rl/sessions/{id}/respond"
RESPONSES = "/v1/responses"
PATHS = (CHAT, RESPONSES, "/v1/rl/sessions", RESPOND, "/v1/rl/sessions/{id}/fork", "/v1/rl/weights")

ONE = encode_image(np.zeros((8, 8, 3), np.uint8))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.characters(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
GOOD: dict[str, Any] = {
    CHAT: {
        "model": "tiny",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "what"}]}],
        "max_tokens": 2,
        "n": 1,
        "stop": ["abc"],
        "stream": False,
        "seed": 3,
        "temperature": 1.0,
        "logprobs": True,
        "return_token_ids": True,
        "logit_bias": {"7": -1.5},
    },
    RESPONSES: {
        "model": "tiny",
        "max_output_tokens": 2,
        "instructions": "b",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": ONE}],
            },
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "c"}]},
            {
                "type": "computer_call",
                "id": "i",
                "call_id": "c",
                "actions": [{"type": "click", "button": "left", "x": 1, "y": 2}],
            },
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "computer_screenshot", "image_url": ONE},
            },
            {"type": "function_call", "id": "f", "call_id": "d", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "d", "output": "e"},
        ],
        "tools": [
            {"type": "computer_use_preview", "display_width": 24, "display_height": 16, "environment": "browser"},
            {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}},
        ],
        "text": {"format": {"type": "text"}},
        "store": True,
        "stream": False,
        "temperature": 1.0,
    },
    "/v1/rl/sessions": {"seed": 1, "lease_seconds": 0.5},
    RESPOND: {"tokens": [1, 9, 2], "images": [], "restart": True, "max_new_tokens": 2, "stop": "abc", "stream": False},
    "/v1/rl/sessions/{id}/fork": {"seed": 1, "lease_seconds": 0.5},
    "/v1/rl/weights": {"checkpoint": "nowhere", "version": 1},
    "/v1/rl/episodes": {"seed": 1, "temperature": 1.0},
}


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    config = dataclasses.replace(SERVER, lease_seconds=0.2, max_lease_seconds=1)
    with serving(make_app(dataclasses.replace(served, computer=ComputerForm("text")), config), config) as address:
        yield address


@pytest.fixture(scope="module")
def sent(address: str) -> Iterator[Callable[[str, bytes], httpx.Response]]:
    """Sends a body to a path, with the id of a live session where the path has one."""
    with httpx.Client(base_url=address, timeout=600, headers={"Content-Type": "application/json"}) as http:

        def send(path: str, body: bytes) -> httpx.Response:
            if "{id}" in path:
                path = path.replace("{id}", http.post("/v1/rl/sessions", content=b"{}").json().get("id", "none"))
            return http.post(path, content=body)

        yield send


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Any]:
    """A good body, one place of which is replaced, removed or given a stranger."""
    path = draw(st.sampled_from(PATHS))
    body = json.loads(json.dumps(GOOD[path]))
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            collect(node[key])

    collect(body)
    node, key = draw(st.sampled_from(places))
    how = draw(st.sampled_from(("replace", "remove", "add")))
    if how == "remove":
        del node[key]
    elif how == "add" and isinstance(node, dict):
        node[draw(st.text(max_size=6))] = draw(ANYTHING)
    else:
        node[key] = draw(ANYTHING)
    return path, body


def require_clean(response: httpx.Response) -> None:
    assert response.status_code in (200, 201, 400, 403, 404, 429), response.text
    if response.status_code >= 400:
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}


relaxed = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@relaxed
@given(mutated())
def test_mutated_bodies(sent: Callable[[str, bytes], httpx.Response], asked: tuple[str, Any]) -> None:
    path, body = asked
    require_clean(sent(path, json.dumps(body).encode()))


@settings(parent=relaxed, max_examples=60)
@given(st.sampled_from(PATHS), st.binary(max_size=60) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(sent: Callable[[str, bytes], httpx.Response], path: str, body: bytes) -> None:
    require_clean(sent(path, body))


def test_nothing_is_left_behind(address: str, idle: Callable[[], None]) -> None:
    """After all of the above, whose sessions nobody deletes."""
    idle()
    metrics = httpx.get(f"{address}/metrics", timeout=600).text
    assert "tars_jax_http_requests_active 1.0" in metrics and 'status="500"' not in metrics
