"""Our agent loop and an endpoint that acts by OpenAI's computer tool, over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from starlette.responses import JSONResponse

from tars_jax import InputError
from tars_jax.agent.actions import Click, Finished, Hotkey, LeftDouble, Navigate, Point, ToolCall, Type
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, Task
from tars_jax.inference.client import open_client
from tars_jax.inference.http_client import EndpointClient
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.rollout.computer_tool_session import ComputerToolSession
from tars_jax.rollout.remote_policy import declining_player
from tars_jax.trajectory import Outcome, Trajectory
from tests.rollout.scripted_endpoint import Script, scripted_responses
from tests.rollout.test_native_session import SPACE, TOKENIZER, TURNS, Page

PAGE = ActionSpace("browser", (*SPACE.actions, "left_double", "navigate"), SPACE.functions)
CLICK = {"type": "click", "button": "left", "x": 20, "y": 5}  # of the page's 40x20


def acting(*actions: Any, id: str = "c1", **fields: Any) -> dict[str, Any]:
    head = {"type": "computer_call", "id": f"cu_{id}", "call_id": id, "status": "completed"}
    return {"pending_safety_checks": [], **head, "actions": list(actions), **fields}


def saying(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def thinking(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}


def calling(name: str, arguments: Any, id: str = "f1") -> dict[str, Any]:
    return {
        "type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "status": "completed",
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }  # fmt: skip


def play(
    script: Script, steps: int = 3, tool: str = "computer", safety_checks: str = "end", **changes: Any
) -> tuple[Trajectory, Page, list[Any]]:
    page, agent = Page(), AgentConfig(**changes)

    async def episode(address: str) -> Trajectory:
        @contextlib.asynccontextmanager
        async def player(*_: Any) -> Any:
            async with open_client(address, turns=TURNS, model="theirs") as client:
                assert isinstance(client, EndpointClient)
                yield ComputerToolSession(
                    client, TURNS, PAGE, agent.grammar, 1, tool=tool, image_size=agent.image_size,
                    safety_checks=safety_checks,
                )  # fmt: skip

        writer = PromptWriter(TOKENIZER, 1, max_observation_tokens=200)
        task = Task("task", "page", 3, {}, steps)
        async with declining_player(player)(page, task) as session:  # type: ignore[arg-type]
            return await play_episode(
                page, page.seen(), session, writer, agent, id="1", task=task, instruction="Do it.", space=PAGE
            )

    with scripted_responses(script) as (address, asked):
        return asyncio.run(episode(address)), page, asked


def test_computer_calls_are_actions_and_screenshots_are_their_outputs() -> None:
    answers = iter(
        [
            [thinking("The middle."), acting(CLICK, {"type": "keypress", "keys": ["CTRL", "C"]}, id="a")],
            [
                acting({"type": "double_click", "x": 0, "y": 0, "keys": None}, id="b"),
                calling("web_look", {"query": "it"}, "c"),
            ],
            [calling("navigate", {"content": "http://x"}, "d")],
            [saying("It is 42.")],
        ]
    )
    episode, page, asked = play(lambda _: next(answers), 6)
    assert page.done == [
        (Click(Point(500, 250)), Hotkey(("ctrl", "c"))),
        (LeftDouble(Point(0, 0)), ToolCall("web.look", {"query": "it"})),
        (Navigate("http://x"),),
        (Finished("It is 42."),),
    ]
    assert episode.outcome is Outcome.FINISHED and all(step.valid for step in episode.steps)
    assert episode.steps[0].response == (
        "Thought: The middle.\nAction: click(point='<point>500 250</point>')\n\nhotkey(key='ctrl c')"
    )
    kinds = [[item["type"] for item in body["input"]] for body in asked]
    assert kinds[1] == ["message", "reasoning", "computer_call", "computer_call_output", "message"]
    assert kinds[3][5:] == [
        *("computer_call", "function_call", "computer_call_output", "function_call_output"),
        *("function_call", "function_call_output", "message"),
    ]
    told = asked[3]["input"]
    assert told[4]["content"] == [{"type": "input_text", "text": "5 left\nturn number 1"}]
    assert told[8]["output"] == "4 left\nturn number 2" and told[10]["output"] == "3 left\nturn number 3"
    assert [part["type"] for part in told[11]["content"]] == ["input_image"], "no computer call whose output it were"
    assert told[3]["output"]["image_url"] != told[7]["output"]["image_url"]
    assert asked[0]["tools"][0] == {"type": "computer"} and asked[0]["model"] == "theirs"
    names = [tool["name"] for tool in asked[0]["tools"][1:]]
    assert names == ["navigate", "web_look"], "what the tool has a form for is no function"
    assert "answer in words" in asked[0]["instructions"]


def test_the_preview_states_its_display_and_holds_one_action() -> None:
    call = acting(action=CLICK)
    del call["actions"]
    _, page, asked = play(lambda _: [call], 2, "computer_use_preview")
    assert page.done == [(Click(Point(500, 250)),)] * 2
    shown = {"type": "computer_use_preview", "display_width": 40, "display_height": 20, "environment": "browser"}
    assert asked[0]["tools"][0] == shown and asked[0]["truncation"] == "auto"


def test_who_asks_for_a_screenshot_alone_is_shown_it_within_the_turn() -> None:
    answers = iter(
        [[acting({"type": "screenshot"}, id="a")], [acting({"type": "screenshot"}, id="b")], [acting(CLICK, id="c")]]
        * 2
    )
    episode, page, asked = play(lambda _: next(answers), 2)
    assert page.done == [(Click(Point(500, 250)),)] * 2 and len(asked) == 6
    assert [item["type"] for item in asked[2]["input"]] == ["message", *("computer_call", "computer_call_output") * 2]
    episode, page, asked = play(lambda _: [acting({"type": "screenshot"})], 4)
    assert not page.done and len(asked) == 10 and episode.outcome is Outcome.REJECTED


@pytest.mark.parametrize("steps", [(0, 0), (1, 2)])
def test_new_windows_are_whole(steps: tuple[int, int]) -> None:
    count = 0

    def script(_: Any) -> Any:
        nonlocal count
        count += 1
        return [acting({"type": "type", "text": "x"}, id=f"id{count}")]

    episode, page, asked = play(script, 6, memory=MemoryConfig(*steps, max_summaries=2))
    assert page.done == [(Type("x"),)] * 6 and len(episode.windows) > 1
    for number, body in enumerate(asked):
        ids = [item["call_id"] for item in body["input"] if item["type"] == "computer_call"]
        assert ids == [f"id{number - back}" for back in reversed(range(len(ids)))]


CHECK = {"id": "cu_sc_1", "code": "malicious_instructions", "message": "The page asks for a password."}


def test_a_safety_check_ends_the_episode_with_its_words_before_anything_is_done() -> None:
    answers = iter([[acting(CLICK, id="a")], [acting(CLICK, id="b", pending_safety_checks=[CHECK])]])
    episode, page, _ = play(lambda _: next(answers), 5)
    assert len(page.done) == 1 and episode.outcome is Outcome.TRUNCATED
    assert episode.metadata["declined"] == "safety_check: The page asks for a password."


def test_a_safety_check_is_acknowledged_where_that_is_declared() -> None:
    answers = iter([[acting(CLICK, id="a", pending_safety_checks=[CHECK])], [saying("done")]])
    episode, page, asked = play(lambda _: next(answers), 5, safety_checks="acknowledge")
    assert len(page.done) == 2 and episode.outcome is Outcome.FINISHED
    assert asked[1]["input"][2]["acknowledged_safety_checks"] == [CHECK]


NONSENSE: dict[str, tuple[list[Any], str]] = {
    "an unknown action": ([acting({"type": "fly"})], "an action of the computer tool must be click"),
    "a place elsewhere": ([acting({**CLICK, "x": 4000})], "x and y must be pixels of a display of 40x20"),
    "one of several": (
        [acting(CLICK, {"type": "keypress", "keys": ["NO SUCH KEY"]})],
        "a key must be one of a keyboard",
    ),
    "no actions": ([acting()], "must be an object with a type"),
    "an action that is none": ([acting("click")], "must be an object with a type"),
    "what the space has not": ([acting({"type": "move", "x": 1, "y": 1})], "a function must be one of"),
    "no function": ([calling("fly", {})], "a function must be one of"),
    "arguments that are no JSON": ([calling("web_look", "{")], "web.look: the arguments must be a JSON object"),
    "a call beside nonsense": ([acting(CLICK), calling("web_look", {})], "web.look: query is missing"),
    "nothing": ([], ""),
    "thoughts alone": ([thinking("Hm.")], ""),
    "a broken answer in our grammar": ([saying("Action: click(")], "does not close"),
}


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_is_an_error_that_the_agent_reads(kind: str, grammar: str) -> None:
    said, error = NONSENSE[kind]
    if kind == "a broken answer in our grammar" and grammar == "tool":
        said = [saying("<seed:tool_call><function=click>")]
        error = ""
    answers = iter([said, [acting(CLICK, id="good")], said, said])
    episode, page, asked = play(lambda _: next(answers), 6, grammar=grammar)
    assert page.done == [(Click(Point(500, 250)),)]
    assert [step.valid for step in episode.steps] == [False, True, False, False]
    assert episode.outcome is Outcome.REJECTED
    told = json.dumps(asked[1]["input"][1 + len(said) :], ensure_ascii=False)
    assert error in told and "5 left" in told and "image" in told


def test_an_answer_in_our_grammar_is_that_action_and_prose_is_the_end() -> None:
    answers = iter(
        [[saying("Thought: x\nAction: click(point='<point>5 6</point>')")], [saying("I (almost) did it: yes.")]]
    )
    _, page, _ = play(lambda _: next(answers), 5)
    assert page.done == [(Click(Point(5, 6)),), (Finished("I (almost) did it: yes."),)]
    refusal = {**saying(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    assert play(lambda _: [refusal], 5)[1].done == [(Finished("I will not."),)]


def test_text_that_points_in_pixels() -> None:
    episode, page, _ = play(lambda _: [acting(CLICK)], 1, image_size=lambda height, width: (2 * height, 2 * width))
    assert page.done == [(Click(Point(500, 250)),)]
    assert "<point>40 10</point>" in episode.steps[0].response
    parsed = parse_response(episode.steps[0].response, space=PAGE, pixel_size=(80, 40))
    assert parsed.actions == page.done[0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (
            400,
            {"message": "Tool 'computer' is not supported with this model."},
            "config.tools must be text for an endpoint",
        ),
        (400, {"message": "no such tool", "param": "tools"}, "takes no such tools; got computer"),
        (404, {"message": "there is no '/v1/responses' here"}, "responses"),
    ],
)
def test_an_endpoint_without_the_tool_is_one_sentence(status: int, error: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        play(lambda _: JSONResponse({"error": error}, status))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"output": "click"},
        {"output": ["click"]},
        {"output": [{"no": "type"}]},
        {"status": "failed", "error": {"code": "server_error", "message": "broken"}, "output": []},
    ],
)
def test_what_is_no_response_is_a_failure_of_the_policy(body: Any) -> None:
    with pytest.raises(PolicyUnavailable, match=r"no response|broken"):
        play(lambda _: JSONResponse(body))


def test_a_filter_ends_the_episode() -> None:
    answers: Any = iter(
        [[acting(CLICK)], {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}]
    )
    episode, page, _ = play(lambda _: next(answers), 5)
    assert episode.metadata["declined"].startswith("content_filter") and len(page.done) == 1
