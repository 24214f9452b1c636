"""Our agent loop and an endpoint that calls tools, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from starlette.responses import JSONResponse

from tars_jax import InputError
from tars_jax.agent.actions import Action, Click, Finished, Point, ToolCall
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.loop import AgentConfig, TurnDeclined, play_episode
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.client import open_client
from tars_jax.inference.http_client import EndpointClient
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.native_session import NativeSession
from tars_jax.trajectory import Outcome, Trajectory
from tests.rollout.scripted_endpoint import Script, call, calling, scripted

TOKENIZER = load_tokenizer()
TURNS = TurnFormat(TOKENIZER, lambda height, width: 1)
LOOK = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["query"],
}
SPACE = ActionSpace(
    "browser",
    ("click", "drag", "hotkey", "type", "scroll", "wait", "finished"),
    (Function("web.look", "Looks.", LOOK),),
)


class Page:
    """Takes down what was done; says what it did, beside a screenshot whose shade counts the turns."""

    def __init__(self) -> None:
        self.done: list[tuple[Action, ...]] = []

    def seen(self) -> Observation:
        shade = np.full((20, 40, 3), 10 * len(self.done), np.uint8)
        return Observation.from_pixels(shade, f"turn number {len(self.done)}")

    async def step(self, actions: Sequence[Action]) -> Transition:
        self.done.append(tuple(actions))
        return Transition(self.seen())


def play(script: Script, steps: int = 3, **changes: Any) -> tuple[Trajectory, Page, list[Any]]:
    """An episode by our loop, all that the page was told to do, and all that the endpoint was asked."""
    page, agent = Page(), AgentConfig(**changes)

    async def episode(address: str) -> Trajectory:
        async with open_client(address, turns=TURNS, model="theirs") as client:
            assert isinstance(client, EndpointClient)
            size = agent.image_size
            session = NativeSession(client, TURNS, SPACE, agent.grammar, 1, image_size=size)
            writer = PromptWriter(TOKENIZER, 1, max_observation_tokens=200)
            task = Task("task", "page", 3, {}, steps)
            return await play_episode(
                page, page.seen(), session, writer, agent, id="1", task=task, instruction="Do it.", space=SPACE
            )

    with scripted(script) as (address, asked):
        return asyncio.run(episode(address)), page, asked


def test_calls_are_actions_and_results_go_back() -> None:
    answers = iter(
        [
            calling(call("click", {"point": [500, 250]}, "a"), words="The button is in the middle."),
            calling(call("web_look", {"query": "it", "count": 2}, "b"), call("hotkey", {"key": "ctrl c"}, "c")),
            calling(call("finished", {"content": "42"}, "d")),
        ]
    )
    episode, page, asked = play(lambda _: next(answers), 5)
    assert page.done[0] == (Click(Point(500, 250)),)
    assert page.done[1][0] == ToolCall("web.look", {"query": "it", "count": 2})
    assert page.done[2] == (Finished("42"),) and episode.outcome is Outcome.FINISHED
    assert [step.action for step in episode.steps] == [
        "click(point='<point>500 250</point>')",
        "web.look(query='it', count=2)\n\nhotkey(key='ctrl c')",
        "finished(content='42')",
    ]
    assert episode.steps[0].thought == "The button is in the middle." and all(step.valid for step in episode.steps)
    assert {tool["function"]["name"] for tool in asked[0]["tools"]} == {*SPACE.actions, "web_look"}
    roles = ["system", "user", "assistant", "tool", "user", "assistant", "tool", "tool", "user"]
    assert [message["role"] for message in asked[2]["messages"]] == roles
    first, second = [message for message in asked[2]["messages"] if message["role"] == "user"][:2]
    assert "Do it." in first["content"][0]["text"] and first["content"][1]["type"] == "image_url"
    assert [part["type"] for part in second["content"]] == ["image_url"]
    told = [(each["tool_call_id"], each["content"]) for each in asked[2]["messages"] if each["role"] == "tool"]
    assert told == [("a", "4 left\nturn number 1"), ("b", "done"), ("c", "3 left\nturn number 2")]
    assert asked[2]["messages"][2]["content"] == "The button is in the middle."
    # As the text form has it: each window reads back as what was played, for whoever imitates it.
    for step in episode.steps:
        assert not isinstance(parse_response(step.response, space=SPACE), str)
        assert parse_response(step.response, space=SPACE).thought == step.thought  # type: ignore[union-attr]


NONSENSE: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown function": (calling(call("fly", {"to": "the moon"})), "a function must be one of click, drag, hotkey"),
    "a name that is none": (calling(call("a b()", {})), "a function must be one of"),
    "no name": (calling({"id": "x", "type": "function", "function": {"arguments": "{}"}}), "a function must be one of"),
    "arguments that are no JSON": (
        calling(call("click", '{"point": [1, 2')),
        "click: the arguments must be a JSON object; got '{\"point\": [1, 2'",
    ),
    "arguments that are no object": (
        calling(call("web_look", "[[]]")),
        "web.look: the arguments must be a JSON object",
    ),
    "a wrong type": (calling(call("click", {"point": "there"})), "click: point must be"),
    "an object for a point": (
        calling(call("click", {"point": {"x": 1}})),
        "click: point must be <point>x y</point> or",
    ),
    "a point elsewhere": (calling(call("click", {"point": [1, 2000]})), "x and y of a point must be 0 to 1000"),
    "a number out of bounds": (
        calling(call("web_look", {"query": "it", "count": 9})),
        "web.look: count must be an integer of 1 to 5; got 9",
    ),
    "a parameter that is missing": (calling(call("web_look", {})), "web.look: query is missing"),
    "a parameter that there is not": (calling(call("finished", {"score": 1})), "finished: a parameter must be one of"),
    "an answer without calls": ({"role": "assistant", "content": "I would rather not."}, "there is no 'Action:'"),
    "nothing at all": ({"role": "assistant", "content": None}, ""),
    "calls that are none": ({"role": "assistant", "content": None, "tool_calls": []}, ""),
    "half a character": (calling(call("web_look", '{"query": "\\ud800", "count": 0}')), "count must be"),
    "a name that is too long": (calling(call("x" * 5000, {})), "a function must be one of"),
}


@pytest.mark.parametrize("grammar", ["text", pytest.param("tool", marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", NONSENSE)
def test_a_nonsense_call_is_an_error_that_the_agent_reads(kind: str, grammar: str) -> None:
    said, error = NONSENSE[kind]
    answers = iter([said, calling(call("click", {"point": [10, 20]}, "good")), said, said])
    episode, page, asked = play(lambda _: next(answers), 6, grammar=grammar)
    assert page.done == [(Click(Point(10, 20)),)], "a bad answer changes nothing"
    assert [step.valid for step in episode.steps] == [False, True, False, False]
    assert episode.outcome is Outcome.REJECTED and len(asked) == 4
    told = "\n".join(json.dumps(message, ensure_ascii=False) for message in asked[1]["messages"][3:])
    assert json.dumps(error, ensure_ascii=False)[1:-1] in told or "there is no" in told
    assert "5 left" in told and "image_url" in told, "the screen as it was, and what is wrong"


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("bad", [call("fly", {}, "b"), call("wait", "time=1", "b"), call("click", "[[1, 2]]", "b")])
@pytest.mark.parametrize("place", [0, 2])
def test_of_several_calls_all_are_carried_out_or_none(bad: dict[str, Any], place: int, grammar: str) -> None:
    calls = [call("click", {"point": [1, 2]}, "a"), call("wait", {}, "c")]
    calls.insert(place, bad)
    answers = iter([calling(*calls), calling(call("finished", {}, "d"))])
    _, page, asked = play(lambda _: next(answers), grammar=grammar)
    assert page.done == [(Finished(""),)]
    told = {each["tool_call_id"]: each["content"] for each in asked[1]["messages"] if each["role"] == "tool"}
    assert told["a"].startswith("not carried out") and told["c"].startswith("not carried out")
    assert "a function must be one of" in told["b"] or ": the arguments must be a JSON object" in told["b"]


@pytest.mark.parametrize("id", [None, "", 7])
def test_a_call_without_an_id_has_one_of_ours(id: Any) -> None:
    said = calling(call("wait", {"time": 1}, id), call("wait", {"time": 2}, id))
    if id == 7:
        said = calling(call("wait", {"time": 1}, id))
    _, page, asked = play(lambda _: said, 3)
    assert len(page.done) == 3 and len(asked) == 3  # `scripted` refuses calls that are not answered by their ids


def test_arguments_that_came_as_an_object_are_read() -> None:
    said = calling({"function": {"name": "click", "arguments": {"point": [3, 4]}}})
    assert play(lambda _: said, 1)[1].done == [(Click(Point(3, 4)),)]


def test_an_answer_in_our_grammar_is_read_where_nothing_is_called() -> None:
    said = {"role": "assistant", "content": "Thought: there\nAction: click(point='<point>5 6</point>')"}
    episode, page, asked = play(lambda _: said, 2)
    assert page.done == [(Click(Point(5, 6)),)] * 2 and episode.steps[0].thought == "there"
    assert [message["role"] for message in asked[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_reasoning_is_the_thought_where_there_are_no_words_and_is_given_back() -> None:
    said = {**calling(call("wait", {})), "reasoning_content": "I had better wait."}
    episode, _, asked = play(lambda _: said, 2)
    assert episode.steps[0].thought == "I had better wait."
    assert asked[1]["messages"][2]["reasoning_content"] == "I had better wait."


@pytest.mark.parametrize("steps", [(0, 0), (1, 2), (2, 4)])
def test_new_windows_show_the_calls_that_they_remember(steps: tuple[int, int]) -> None:
    """Each request is whole and right by the endpoint's rules, whatever memory folds."""
    count = 0

    def script(body: Any) -> Any:
        nonlocal count
        count += 1
        return calling(call("type", {"content": "x"}, f"id{count}"), words="the same words")

    episode, page, asked = play(script, 7, memory=MemoryConfig(*steps, max_summaries=2))
    assert len(page.done) == 7 == len(asked) and len(episode.windows) > 1
    for number, body in enumerate(asked):
        ids = [each["id"] for message in body["messages"] for each in message.get("tool_calls", ())]
        assert ids == [f"id{number - back}" for back in reversed(range(len(ids)))]


def test_points_in_pixels_of_the_picture() -> None:
    said = calling(call("click", {"point": [56, 14]}))
    episode, page, asked = play(lambda _: said, 1, image_size=lambda height, width: (28, 56))
    assert page.done == [(Click(Point(1000, 500)),)] and episode.steps[0].point == (1000, 500)
    point = asked[0]["tools"][0]["function"]["parameters"]["properties"]["point"]
    assert point["description"] == "[x, y] in pixels of the screenshot"


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice'}, "config.tools must be text for an"),
        (400, {"message": "x does not support tools", "param": None}, "takes no such tools; got native"),
        (400, {"message": "unknown field", "param": "tools"}, "config.tools must be text"),
        (404, {"message": "no such model"}, "no such model"),
    ],
)
def test_an_endpoint_that_takes_no_tools_is_one_sentence(status: int, error: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        play(lambda _: JSONResponse({"error": error}, status))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "click"}]},
    ],
)
def test_what_is_no_chat_completion_is_a_failure_of_the_policy(body: Any) -> None:
    with pytest.raises(PolicyUnavailable, match="is no chat completion"):
        play(lambda _: JSONResponse(body))


@pytest.mark.parametrize(
    "message",
    [
        {"content": 7},
        {"tool_calls": "click"},
        {"tool_calls": ["click"]},
        {"tool_calls": [{"id": "1"}]},
        {"tool_calls": [{"id": "1", "type": "function", "function": None}]},
    ],
)
def test_calls_that_are_none_are_an_answer_that_cannot_be_read(message: Any) -> None:
    """The endpoint is there: who waits for it would wait for the same answer."""
    body = {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    episode, page, _ = play(lambda _: JSONResponse(body), 2)
    assert not page.done and not any(step.valid for step in episode.steps)


def test_a_conversation_that_is_too_long_is_declined_and_no_refusal_of_tools() -> None:
    error = {"message": "the tool messages are too long", "code": "context_length_exceeded"}
    with pytest.raises(Declined) as declined:
        play(lambda _: JSONResponse({"error": error}, 400))
    assert declined.value.reason == "context_length_exceeded" and not isinstance(declined.value, TurnDeclined)
