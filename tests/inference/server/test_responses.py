"""The unmodified `openai` package and `POST /v1/responses`, with the computer tool."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import openai
import pytest

from tars_jax.inference.server import Served, make_app, serving
from tars_jax.inference.server.response_store import ResponseStore, Stored
from tars_jax.web.protocol import RequestError
from tests.inference.server.conftest import CODEC, SERVER
from tests.inference.server.test_episodes import Trainer

COMPUTER: Any = [{"type": "computer"}]
SHOWN = {"type": "computer_screenshot"}
FILE, ELSEWHERE = {"type": "input_file"}, {"type": "input_image", "image_url": "http://x/y"}
PREVIEW: Any = [{"type": "computer_use_preview", "display_width": 24, "display_height": 16, "environment": "browser"}]


@dataclasses.dataclass(frozen=True)
class Told:
    system: str = ""
    before: str = ""
    tools: Sequence[Any] = ()


class Clicker:
    """Every answer is a click and then a wait, whose place its first letters say; one that begins with `a` is words."""

    def told(self, environment: str, tools: Sequence[Any], *, screen: bool) -> Told:
        return Told(before="act")

    def read(self, text: str, tools: Sequence[Any], size: tuple[int, int] | None) -> tuple[str, str, Any]:
        assert size == (24, 16)
        if text.startswith("a"):
            return "", text, ()
        x, y = (ord(letter) % limit for letter, limit in zip(text, size, strict=False))
        return text, "", ({"actions": [{"type": "click", "button": "left", "x": x, "y": y}, {"type": "wait"}]},)

    def write(self, heard: Any, tools: Sequence[Any], size: tuple[int, int] | None) -> str:
        return "w"


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with serving(make_app(dataclasses.replace(served, computer=Clicker()), SERVER), SERVER) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client:
        yield client


def shown(picture: Callable[[int], str], number: int) -> Any:
    return {"type": "input_image", "image_url": picture(number), "detail": "auto"}


def output(call: Any, url: str) -> Any:
    return {
        "type": "computer_call_output",
        "call_id": call.call_id,
        "output": {"type": "computer_screenshot", "image_url": url},
    }


def call_of(response: Any) -> Any:
    return next(item for item in response.output if item.type == "computer_call")


def first_of(client: openai.OpenAI, picture: Callable[[int], str], **fields: Any) -> Any:
    """The first response with a call; the letters are random."""
    asked = [{"role": "user", "content": [{"type": "input_text", "text": "go"}, shown(picture, 1)]}]
    for seed in range(20):
        more = {"tools": COMPUTER, "max_output_tokens": 6, "extra_body": {"seed": seed}, **fields}
        found = client.responses.create(model="tiny", input=asked, **more)  # type: ignore[arg-type]
        if any(item.type == "computer_call" for item in found.output):
            return found
    raise AssertionError("no answer was a call")


def test_a_text_is_answered_as_by_chat_completions(server: str) -> None:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="any", max_retries=0) as client:
        asked: Any = {"model": "tiny", "temperature": 0}
        found = client.responses.create(
            **asked, input="where", instructions="be brief", max_output_tokens=5, metadata={"a": "b"}
        )
        messages: Any = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "where"}]
        chat = client.chat.completions.create(**asked, messages=messages, max_tokens=5)
    assert found.output_text == chat.choices[0].message.content and found.status == "incomplete"
    assert found.incomplete_details is not None and found.incomplete_details.reason == "max_output_tokens"
    assert found.usage is not None and chat.usage is not None and found.usage.input_tokens == chat.usage.prompt_tokens
    assert found.metadata == {"a": "b"} and found.instructions == "be brief" and found.object == "response"


def test_without_a_screen_a_screenshot_is_asked_for(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    found = client.responses.create(model="tiny", input="go", tools=COMPUTER, max_output_tokens=6)
    call = call_of(found)
    assert [action.type for action in call.actions] == ["screenshot"] and found.usage is not None
    assert found.usage.total_tokens == 0 and found.status == "completed"
    after = client.responses.create(
        model="tiny", previous_response_id=found.id, input=[output(call, picture(1))], tools=COMPUTER,
        max_output_tokens=6,
    )  # fmt: skip
    # <|user|>act, a blank line, go, a picture of six tokens between two, <|agent|>
    assert after.usage is not None and after.usage.input_tokens == 1 + 3 + 2 + 2 + 8 + 1
    preview = client.responses.create(model="tiny", input="go", tools=PREVIEW, truncation="auto")
    assert call_of(preview).action.type == "screenshot"


@pytest.mark.parametrize("tools", [COMPUTER, PREVIEW])
def test_calls_of_both_tools(client: openai.OpenAI, picture: Callable[[int], str], tools: Any) -> None:
    found = first_of(client, picture, tools=tools)
    assert [item.type for item in found.output][:2] == ["reasoning", "computer_call"]
    calls = [item for item in found.output if item.type == "computer_call"]
    if tools is COMPUTER:
        assert [action.type for action in calls[0].actions] == ["click", "wait"] and len(calls) == 1
        assert 0 <= calls[0].actions[0].x < 24 and calls[0].actions[0].button == "left"
    else:
        assert [call.action.type for call in calls] == ["click", "wait"]
    assert all(call.pending_safety_checks == [] and call.status == "completed" for call in calls)


def follow(
    client: openai.OpenAI, picture: Callable[[int], str], stateful: bool, turns: int, seed: int = 0
) -> list[int]:
    """Plays so many turns by a client's usual loop; the tokens that were read at each."""
    asked: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "go"}, shown(picture, 1)]}]
    previous, read = None, []
    new = asked
    for turn in range(turns):
        given: Any = {"input": new, "previous_response_id": previous} if stateful else {"input": asked}
        found = client.responses.create(
            model="tiny", tools=COMPUTER, max_output_tokens=6, extra_body={"seed": seed + turn}, **given
        )
        assert found.usage is not None
        read.append(found.usage.input_tokens)
        new = [output(item, picture(turn + 2)) for item in found.output if item.type == "computer_call"]
        new = [*(new or [{"role": "user", "content": [shown(picture, turn + 2)]}]), {"role": "user", "content": "left"}]
        asked += [item.model_dump(exclude_none=True) for item in found.output]
        asked += new
        previous = found.id
    return read


@pytest.mark.parametrize("stateful", [True, False])
def test_a_recorded_episode_is_one_window(address: str, picture: Callable[[int], str], stateful: bool) -> None:
    """By `previous_response_id`, and by the whole input at every turn, whose items hold no text of the policy's own."""
    trainer = Trainer(address)
    with trainer.http:
        id, client = trainer.open(seed=1, temperature=1.0)
        read = follow(client, picture, stateful, 4)
        [window] = trainer.finish(id)
        with pytest.raises(openai.AuthenticationError, match="an episode that is over"):
            client.responses.create(model="tiny", input="go")
    assert len(window) == 4 and all(turn["free"] and not turn["read_again"] for turn in window)
    assert [len(turn["images"]) for turn in window] == [1, 1, 1, 1]
    assert CODEC.decode(window[0]["read"]).startswith("<|user|>act\n\ngo<|vision_start|>")
    assert CODEC.decode(window[1]["read"]).startswith("<|end|><|user|>left<|vision_start|>"), "words before the picture"
    for turn in range(4):
        before = sum(len(each["read"]) + len(each["answer"]["tokens"]) for each in window[:turn])
        assert read[turn] == before + len(window[turn]["read"])


def test_without_an_episode_it_reads_the_same(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    for seed in range(0, 40, 2):
        # Some of these answers have special tokens in them, which are letters once they are read as text: too many.
        with contextlib.suppress(openai.BadRequestError):
            assert follow(client, picture, True, 2, seed) == follow(client, picture, False, 2, seed)
            break
    else:
        raise AssertionError("no answer was short enough")


def test_what_is_not_stored_can_still_be_given_whole(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    found = first_of(client, picture, store=False)
    with pytest.raises(openai.BadRequestError, match="give the whole conversation as input") as refused:
        client.responses.create(model="tiny", previous_response_id=found.id, input="go", tools=COMPUTER)
    assert refused.value.param == "previous_response_id" and refused.value.code == "previous_response_not_found"
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(found.id)


def test_an_unknown_history_is_written_anew(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    """Of items that another server made: as the policy's form writes them."""
    call = {
        "type": "computer_call", "id": "cu_x", "call_id": "x", "status": "completed", "pending_safety_checks": [],
        "actions": [{"type": "wait"}],
    }  # fmt: skip
    asked: Any = [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}, shown(picture, 1)]},
        {"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": "b"}]},
        call,
        {"type": "computer_call_output", "call_id": "x", "output": SHOWN | {"image_url": picture(2)}},
    ]  # fmt: skip
    found = client.responses.create(model="tiny", input=asked, tools=COMPUTER, max_output_tokens=2)
    # as before, <|agent|>w<|end|>, <|user|> and a picture between two
    assert found.usage is not None and found.usage.input_tokens == (1 + 3 + 2 + 2 + 8) + 3 + (1 + 8) + 1


def test_responses_are_kept_and_deleted(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    found = first_of(client, picture)
    assert client.responses.retrieve(found.id) == found
    client.responses.delete(found.id)
    with pytest.raises(openai.NotFoundError, match="there is no response"):
        client.responses.retrieve(found.id)


def test_an_episode_s_responses_are_its_own(address: str, picture: Callable[[int], str]) -> None:
    trainer = Trainer(address)
    with trainer.http:
        (one, first), (other, second) = trainer.open(), trainer.open()
        found = first.responses.create(model="tiny", input="where", max_output_tokens=2, tools=COMPUTER)
        with pytest.raises(openai.NotFoundError):
            second.responses.retrieve(found.id)
        for id in (one, other):
            trainer.finish(id)


def test_a_stream_tells_what_the_response_says(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    asked: Any = [{"role": "user", "content": [{"type": "input_text", "text": "go"}, shown(picture, 1)]}]
    fields: Any = {"model": "tiny", "input": asked, "tools": COMPUTER, "max_output_tokens": 6}
    for seed in range(4):
        whole = client.responses.create(**fields, extra_body={"seed": seed})
        events = [*client.responses.create(**fields, extra_body={"seed": seed}, stream=True)]
        kinds = [event.type for event in events]
        assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == f"response.{whole.status}"
        assert [event.sequence_number for event in events] == [*range(len(events))]
        final: Any = events[-1]
        assert final.response.output_text == whole.output_text
        assert [item.type for item in final.response.output] == [item.type for item in whole.output]
        told = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert told == whole.output_text
    with client.responses.stream(model="tiny", input="go", tools=COMPUTER) as stream:
        assert "response.output_item.done" in [event.type for event in stream]
        assert call_of(stream.get_final_response()).actions[0].type == "screenshot"


@pytest.mark.parametrize(
    ("fields", "words", "param"),
    [
        ({"model": "other"}, "model must be 'tiny'", "model"),
        ({"input": []}, "input must be a text or an array of items", "input"),
        ({"input": 3}, "input must be", "input"),
        ({"input": [{"type": "web_search_call"}]}, r"input\[0\].type must be one of message", "input[0].type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "role must be one of user", "input[0].role"),
        ({"input": [{"role": "user", "content": [FILE]}]}, "must be input_text", "input[0].content[0].type"),
        (
            {"input": [{"type": "computer_call_output", "call_id": "no", "output": {}}]},
            r"call_id must be that of a call before it; got 'no'",
            "input[0].call_id",
        ),
        ({"input": [{"type": "item_reference", "id": "no"}]}, "an item that this server still knows", "input[0].id"),
        ({"input": [{"role": "user", "content": [ELSEWHERE]}]}, "data URL", "input"),
        ({"input": [{"role": "assistant", "content": "yes"}]}, "last of messages must be one to answer", "input"),
        ({"tools": [{"type": "web_search"}]}, "must be function, or one of computer", "tools[0].type"),
        ({"tools": [{"type": "computer"}, {"type": "computer"}]}, "once", "tools[1].type"),
        ({"tools": COMPUTER, "tool_choice": "required"}, "tool_choice must be auto or none beside", "tool_choice"),
        ({"previous_response_id": "resp_no"}, "there is no response 'resp_no'", "previous_response_id"),
        ({"background": True}, "background must be False", "background"),
        ({"temprature": 1}, "'temprature' is no field", "temprature"),
        ({"max_output_tokens": 0}, "^max_output_tokens must be a whole number", "max_output_tokens"),
        ({"temperature": 9}, "temperature must be", "temperature"),
        ({"store": "yes"}, "store must be true or false", "store"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_names_its_field(address: str, fields: dict[str, Any], words: str, param: str) -> None:
    body = {"model": "tiny", "input": "where", "max_output_tokens": 2, **fields}
    answer = httpx.post(f"{address}/v1/responses", json=body, timeout=600)
    error = answer.json()["error"]
    assert answer.status_code in (400, 404), error
    assert error["param"] == param
    assert re.search(words, error["message"]), error


def test_a_policy_without_a_screen_has_no_computer_tool(server: str, picture: Callable[[int], str]) -> None:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="any", max_retries=0) as client:
        asked: Any = [{"role": "user", "content": [shown(picture, 1)]}]
        with pytest.raises(openai.BadRequestError, match="this policy has no computer tool"):
            client.responses.create(model="tiny", input=asked, tools=COMPUTER)


def test_a_server_with_a_key_opens_responses_to_episodes(other_server: Any) -> None:
    with other_server(api_key="secret") as address:
        trainer = Trainer(address, "secret")
        with trainer.http:
            id, client = trainer.open()
            client.responses.create(model="tiny", input="where", max_output_tokens=2)
            [[turn]] = trainer.finish(id)
        assert turn["asked"] == "where"
        assert httpx.post(f"{address}/v1/responses", json={}).status_code == 401


def test_the_store_is_bounded() -> None:
    """Conversations go as one, that was used longest ago first; texts one by one."""
    store = ResponseStore(responses=4, characters=1000, texts=3)

    def put(id: str, before: Stored, size: int = 10) -> Stored:
        store.put("", before, [{"role": "user", "content": "x" * size}], frozenset(), {"id": id})
        return store.get("", id)

    first = put("a1", Stored())
    put("b1", Stored())
    put("a2", first)
    store.get("", "b1")
    put("c1", Stored())
    put("c2", store.get("", "c1"))  # a fifth: both of a, as b was asked for since
    for id in ("a1", "a2"):
        with pytest.raises(RequestError, match="forgotten"):
            store.get("", id)
    assert store.get("", "b1").body == {"id": "b1"}
    assert len(store.get("", "c2").messages) == 2
    put("d1", Stored(), 990)
    assert store.get("", "d1") and not [id for id in ("b1", "c1", "c2") if ("", id) in store._stored]
    put("a3", first)  # goes on from one that was forgotten meanwhile
    assert len(store.get("", "a3").messages) == 2
    store.remember("", ["1", "2"], "x")
    store.remember("", ["3", "4"], "y")
    assert [store.text("", id) for id in "1234"] == [None, "x", "y", "y"]
    assert store.text("other", "4") is None
