"""Whatever an endpoint answers, a turn is an answer or a typed failure, and the next request is whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.rollout.computer_tool_session import ComputerToolSession
from tars_jax.rollout.native_session import NativeSession
from tests.rollout.scripted_endpoint import call, calling
from tests.rollout.test_computer_tool_session import CLICK, PAGE, acting, saying, thinking
from tests.rollout.test_native_session import TOKENIZER, TURNS

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
CHAT = {
    "choices": [
        {"message": calling(call("click", {"point": [1, 2]}), call("web_look", {"query": "x"}, "d"), words="w")}
    ]
}
LOOK = {"type": "function_call", "id": "f", "call_id": "g", "name": "web_look", "arguments": '{"query": "x"}'}
RESPONSE = {"status": "completed", "output": [thinking("t"), saying("w"), acting(CLICK, {"type": "wait"}), LOOK]}
WRITER = PromptWriter(TOKENIZER, 1, max_observation_tokens=50)
SEEN = WRITER.shown(Observation.from_pixels(np.zeros((20, 40, 3), np.uint8), "text"))
PIXELS = [np.zeros((20, 40, 3), np.uint8)]


class Endpoint:
    """Says the same again and again, and takes what is JSON."""

    policy_info: Mapping[str, Any] = {}

    def __init__(self, said: Any) -> None:
        self.said, self.asked = said, list[Any]()

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(json.loads(json.dumps(body, allow_nan=False)))
        found: dict[str, Any] = json.loads(json.dumps(self.said))
        return found


@st.composite
def mutated(draw: st.DrawFn, good: Any) -> Any:
    body = json.loads(json.dumps(good))
    for _ in range(draw(st.integers(1, 3))):
        places: list[tuple[Any, Any]] = []

        def collect(node: Any, places: list[tuple[Any, Any]] = places) -> None:
            for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
                places.append((node, key))
                collect(node[key])

        collect(body)
        if not places:
            break
        node, key = draw(st.sampled_from(places))
        if draw(st.booleans()) and isinstance(node, dict):
            del node[key]
        else:
            node[key] = draw(ANYTHING)
    return body


def turns(session: Any, endpoint: Endpoint) -> None:
    """Two turns of one window, and one of another."""

    async def play() -> None:
        first = WRITER.preamble("Do it.", "") + WRITER.observation(3, first=True, shown=SEEN)
        said = await session.respond(first, PIXELS, restart=True)
        again = await session.respond(WRITER.observation(2, first=False, shown=SEEN), PIXELS, restart=False)
        assert said.tokens and again.tokens
        whole = [*first, *again.tokens, *WRITER.observation(1, first=False, shown=SEEN)]
        await session.respond(whole, PIXELS * 2, restart=True)

    try:
        asyncio.run(play())
    except (PolicyUnavailable, Declined):
        return
    assert len(endpoint.asked) >= 3


relaxed = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("grammar", ["text", "tool"])
def test_chat_completions(grammar: str) -> None:
    @relaxed
    @given(mutated(CHAT))
    def check(said: Any) -> None:
        endpoint = Endpoint(said)
        turns(NativeSession(endpoint, TURNS, PAGE, grammar, 1), endpoint)
        for body in endpoint.asked:
            ids = [each["id"] for message in body["messages"] for each in message.get("tool_calls", ())]
            told = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
            assert ids == told

    check()


@pytest.mark.parametrize("tool", ["computer", "computer_use_preview"])
def test_responses(tool: str) -> None:
    @relaxed
    @given(mutated(RESPONSE))
    def check(said: Any) -> None:
        endpoint = Endpoint(said)
        turns(ComputerToolSession(endpoint, TURNS, PAGE, "text", 1, tool=tool), endpoint)
        for body in endpoint.asked:
            ids = [each["call_id"] for each in body["input"] if each["type"] in ("computer_call", "function_call")]
            told = [each["call_id"] for each in body["input"] if str(each["type"]).endswith("_output")]
            assert sorted(ids) == sorted(told)

    check()
