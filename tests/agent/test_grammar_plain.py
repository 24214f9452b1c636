"""Plain text as the form of an answer: what is written is what is said."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import Click, ErrorKind, Finished, ParseError, Point, Response, ToolCall, Wait
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.grammar_plain import require_text_call
from tars_jax.agent.pattern import response_pattern
from tars_jax.environment import ActionSpace, Function


def space(**schema: Any) -> ActionSpace:
    parameters = {"type": "object", "properties": {"text": {"type": "string", **schema}}, "required": ["text"]}
    return ActionSpace("tools", functions=(Function("answer", parameters=parameters),))


def said(text: str, thought: str = "") -> Response:
    return Response(thought, (ToolCall("answer", {"text": text}),))


@pytest.mark.parametrize(
    ("written", "response"),
    [
        ("12", said("12")),
        (" it's 12, (twelve)\n", said("it's 12, (twelve)")),
        ("<think>5 + 7</think>\n\n12", said("12", "5 + 7")),
        ("5 + 7</think>12", said("12", "5 + 7")),  # the chat's template wrote the opening tag
        ("12<|im_end|>\n<|im_end|>", said("12")),
        ("Action: click(point='<point>1 2</point>')", said("Action: click(point='<point>1 2</point>')")),
        ("", said("")),
        ("<think>a <\\/think> b</think>c", said("c", "a </think> b")),
        ("<think></think>see </think>", said("see </think>")),
    ],
)
def test_what_is_written_is_what_is_said(written: str, response: Response) -> None:
    assert parse_response(written, "plain", space=space()) == response
    assert parse_response(format_response(response, "plain"), "plain", space=space()) == response


def test_without_a_space_it_is_what_finished_says() -> None:
    assert parse_response("done", "plain") == Response("", (Finished("done"),))
    assert format_response(Response("so", (Finished("done"),)), "plain") == "<think>so</think>done"


def test_what_no_choice_says_and_an_open_thought_are_errors() -> None:
    refused = parse_response("maybe", "plain", space=space(enum=["yes", "no"]))
    assert isinstance(refused, ParseError) and refused.kind is ErrorKind.BAD_ARGUMENT
    assert parse_response("yes", "plain", space=space(enum=["yes", "no"])) == said("yes")
    cut = parse_response("<think>so long", "plain", space=space())
    assert isinstance(cut, ParseError) and cut.kind is ErrorKind.UNBALANCED


@pytest.mark.parametrize("actions", [(Click(Point(1, 2)),), (Wait(),), (Finished("a"), Finished("b"))])
def test_it_says_one_text_alone(actions: Any) -> None:
    with pytest.raises(InputError, match="must be one call of one text"):
        format_response(Response("", actions), "plain")


@pytest.mark.parametrize(
    "other",
    [
        ActionSpace("browser", ("click", "finished")),
        ActionSpace("tools", ("finished",), space().functions),
        ActionSpace("tools", functions=(Function("go"),)),
        ActionSpace(
            "tools", functions=(Function("go", "", {"type": "object", "properties": {"n": {"type": "integer"}}}),)
        ),
    ],
)
def test_other_spaces_are_refused_by_name(other: ActionSpace) -> None:
    with pytest.raises(InputError, match="agent.grammar must be text or tool where more can be called"):
        require_text_call(other)
    assert require_text_call(space()) == ("answer", "text")


def test_a_pattern_lets_through_what_can_be_read() -> None:
    free = re.compile(response_pattern("plain", space=space()))
    chosen = re.compile(response_pattern("plain", space=space(enum=["a", "b.c"]), thought="required"))
    assert free.fullmatch("<think>so</think>it's 1 < 2") and free.fullmatch("12") and not free.fullmatch("a</think>b")
    assert chosen.fullmatch("<think>so</think>b.c") and not chosen.fullmatch("<think>so</think>bxc")
    assert not chosen.fullmatch("a")
