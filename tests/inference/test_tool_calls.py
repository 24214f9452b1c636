"""Tools of a chat request: what the model reads, and what a client gets of its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tars_jax.inference.chat_protocol import ChatLimits, call_deltas, completion_choice, message_of, parse_chat
from tars_jax.inference.conversation_windows import said_of
from tars_jax.inference.tool_calls import CallStream, split_calls
from tars_jax.web.protocol import RequestError

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "caf\u00e9"}'}}
USER = {"role": "user", "content": "Where?"}
LISTED = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    '{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}\n'
    "</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
    "</tool_call>"
)


def read(*messages: dict[str, Any], **fields: Any) -> list[tuple[str, str]]:
    request = parse_chat({"model": "m", "messages": list(messages), **fields}, ChatLimits())
    return [(message.role, "".join(map(str, message.parts))) for message in request.with_pixels([])]


def test_tools_are_listed_as_qwen_reads_them() -> None:
    assert read(USER, tools=[TOOL]) == [("system", LISTED), ("user", "Where?")]
    system = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    assert read(system, USER, tools=[TOOL])[0] == ("system", f"Be brief.\n\n{LISTED}")
    assert read(USER, tools=[TOOL], tool_choice="none") == read(USER, tools=[]) == [("user", "Where?")]


def test_calls_and_what_tools_say_go_back_as_they_came() -> None:
    called = '<tool_call>\n{"name": "look", "arguments": {"at": "caf\u00e9"}}\n</tool_call>'
    tool = {"role": "tool", "tool_call_id": "call_1", "content": "a door"}
    for content, text in ((None, called), ("I look.", f"I look.\n{called}")):
        message = {"role": "assistant", "content": content, "tool_calls": [CALL]}
        assert read(USER, message, tool)[1:] == [("assistant", text), ("tool", "a door")]
        choice = completion_choice(0, text, "stop", None, tools=True)
        assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] == content
        (found,) = choice["message"]["tool_calls"]
        assert found["function"] == CALL["function"] and found["type"] == "function"
    assert read(USER, {"role": "assistant", "tool_calls": [CALL, CALL]}, tool)[1][1] == f"{called}\n{called}"


@pytest.mark.parametrize(
    "arguments", ['{"at":"café"}', '{"at": "caf\\u00e9"}', '\n{ "at" : "café" }', '{\n  "at": "café"\n}']
)
def test_a_call_is_the_same_in_whatever_form_a_program_sends_it_back(arguments: str) -> None:
    """Programs read arguments and write them anew: the history has begun with what was said all the same."""
    answer = completion_choice(
        0, '<tool_call>{"name": "look", "arguments": {"at": "café"}}</tool_call>', "stop", None, True
    )
    call = {**CALL, "function": {"name": "look", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert [said_of(message_of(each)) for each in (message, answer["message"])] == [said_of(message_of(message))] * 2


@pytest.mark.parametrize("arguments", ["1", "no JSON", '{"at": 1e999}', '{"at": "\\ud800"}'])
def test_arguments_that_are_none_are_read_as_they_came(arguments: str) -> None:
    call = {**CALL, "function": {"name": "look", "arguments": arguments}}
    [_, (_, said)] = read(USER, {"role": "assistant", "tool_calls": [call]}, USER)[:2]
    assert f'"arguments": {arguments}}}' in said


@pytest.mark.parametrize("nothing", [None, "", []])
def test_an_empty_answer_and_a_tool_with_nothing_to_say_can_be_sent_back(nothing: Any) -> None:
    said: list[dict[str, Any]] = [{"role": "assistant", "content": nothing}, {"role": "tool", "content": nothing}]
    assert read(USER, *said) == [("user", "Where?"), ("assistant", ""), ("tool", "")]
    with pytest.raises(RequestError, match=r"messages\[0\].content must be text or an array of parts"):
        read({"role": "user", "content": None if nothing == "" else nothing})


def test_marks_and_hints_of_programs_for_other_servers_change_nothing() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    answer = {"role": "assistant", "content": "a", "reasoning_content": "b", "provider_specific_fields": None}
    parts = [{"type": "text", "text": "Where?", **mark}]
    hints = {"reasoning_effort": "low", "verbosity": "high", "store": True, "metadata": {"a": "b"}}
    found = read({"role": "user", "content": parts}, answer, USER | mark, tools=[TOOL | mark], **hints)
    assert found[1:] == [("user", "Where?"), ("assistant", "a"), ("user", "Where?")]


@pytest.mark.parametrize(
    "text",
    [
        "Left.", "<tool_call>\n{look}\n</tool_call>", '<tool_call>{"name": 5}</tool_call>', '<tool_call>\n{"name":',
        '<tool_call>{"name": "look", "arguments": {"at": 1e999}}</tool_call>',
        '<tool_call>{"name": "look", "arguments": {"at": NaN}}</tool_call>',
        '<tool_call>{"name": "look", "arguments": {"at": "\\ud800"}}</tool_call>',
        '<tool_call>{"name": "\\udfff"}</tool_call>',
    ],
)  # fmt: skip
def test_an_answer_without_a_call_is_words(text: str) -> None:
    choice = completion_choice(0, text, "stop", None, tools=True)
    assert choice["message"] == {"role": "assistant", "content": text, "refusal": None}
    assert choice["finish_reason"] == "stop"


def test_an_answer_that_was_cut_off_says_so() -> None:
    text = '<tool_call>{"name": "look"}</tool_call> and'
    choice = completion_choice(0, text, "length", None, tools=True)
    assert choice["finish_reason"] == "length" and choice["message"]["content"] == "and"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {}


def test_nothing_is_called_where_no_tools_were_given() -> None:
    text = '<tool_call>{"name": "look"}</tool_call>'
    assert completion_choice(0, text, "stop", None)["message"]["content"] == text


def test_deep_tools_are_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"properties": deep}
    with pytest.raises(RequestError, match="tools"):
        read(USER, tools=[{"type": "function", "function": {"name": "f", "parameters": deep}}])


ONE = '<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'
LIST = '<|FunctionCallBegin|>[{"name": "look", "parameters": {"at": 1}}, {"name": "rest"}]<|FunctionCallEnd|>'


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("text", "words", "calls"),
    [
        (f"I look.\n{ONE}", "I look.", 1),
        (f"{ONE}\n{ONE} and\n", "and", 2),
        (f"a {ONE} b", "a b", 1),
        ("2 < 3, <tool> \n", "2 < 3, <tool> \n", 0),
        ("<tool_call>never", "<tool_call>never", 0),
        (f"<tool_call>{{}}</tool_call>{ONE}", "<tool_call>{}</tool_call>", 1),
        (f"<tool_call> {ONE}", "<tool_call>", 1),
        ("x</tool_call>", "x</tool_call>", 0),
        (f"I look.\n<mcp_env>\n{LIST}\n</mcp_env>", "I look.", 2),
        (f"{LIST} {ONE}\n", "", 3),
        ("<mcp_env>[]</mcp_env> <|FunctionCallBegin|>", "<mcp_env>[]</mcp_env> <|FunctionCallBegin|>", 0),
        ("<|FunctionCall|> <mcp_env", "<|FunctionCall|> <mcp_env", 0),
    ],
)
def test_calls_are_told_from_words_while_they_come(text: str, words: str, calls: int, size: int) -> None:
    """In whatever pieces the text comes, what is said at the end is what the whole text says."""
    stream, said, found = CallStream(), "", 0
    for start in range(0, len(text), size):
        for part in stream.feed(text[start : start + size]):
            said += part if isinstance(part, str) else ""
            found += not isinstance(part, str)
    for part in stream.finish():
        assert isinstance(part, str)
        said += part
    assert (said, found) == (words, calls)
    whole, listed = split_calls(text)
    assert (whole, len(listed)) == (words, calls)


def test_a_call_is_streamed_as_its_name_and_its_arguments() -> None:
    (call,) = split_calls(ONE)[1]
    first, second = (delta["tool_calls"][0] for delta in call_deltas(3, call))
    assert (first["index"], first["id"], first["type"]) == (3, call["id"], "function")
    assert first["function"] == {"name": "look", "arguments": ""}
    assert second == {"index": 3, "function": {"arguments": '{"at": 1}'}}
