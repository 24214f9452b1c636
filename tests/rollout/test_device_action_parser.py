"""What is read inside a program is what `parse_response` reads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent import ParseError, parse_response
from tars_jax.agent.actions import Click, Finished, Hotkey, ToolCall
from tars_jax.environment import ActionSpace, Function
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.device_action_parser import ParsedAnswer, compile_action_parser

TOKENIZER = load_tokenizer()
KEYS = ("up", "right")
CHOICES = tuple(Hotkey((key,)) for key in KEYS)
PARSER = compile_action_parser(ActionSpace(actions=("click", "hotkey")), CHOICES, TOKENIZER.token_bytes())
LENGTH = 48
READ = jax.jit(PARSER.__call__)


def read(tokens: list[int]) -> ParsedAnswer:
    return READ(jnp.array([*tokens, *[-1] * (LENGTH - len(tokens))], jnp.int32))


THOUGHTS = st.text(alphabet="ab 1,.:é\n'A\\", max_size=8)
CALLS = st.one_of(
    st.builds("click(point='<point>{} {}</point>')".format, st.integers(0, 1001), st.integers(0, 1001)),
    st.sampled_from(["hotkey(key='up')", "hotkey(key='right')", "hotkey(key='ctrl c')", "hotkey(key='upp')"]),
    st.sampled_from(["click(point='<point>007 08</point>')", "wait()", "click()", "click(point='1 2')", ""]),
)


@st.composite
def answers(draw: st.DrawFn) -> str:
    """Mostly well-formed answers, some of them damaged in one place."""
    thought = draw(st.one_of(st.just(""), THOUGHTS.map("Thought: {}\n".format)))
    text = f"{thought}Action: {draw(CALLS)}"
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(["", "\n", "'", "x", "Action: "])) + text[place + 1 :]
    return text


@settings(max_examples=250, deadline=None)
@given(answers())
def test_what_is_accepted_is_parsed_to_the_same_action(text: str) -> None:
    tokens = TOKENIZER.encode(text)
    if len(tokens) > LENGTH:
        return
    found, parsed = read(tokens), parse_response(text)
    if not found.valid:
        assert int(found.acts.function[0]) == int(found.acts.choice[0]) == -1
        return
    assert not isinstance(parsed, ParseError)
    (action,) = parsed.actions
    if isinstance(action, Click):
        assert int(found.acts.function[0]) == 0
        assert tuple(map(float, found.acts.point[0])) == (action.point.x, action.point.y)
        assert int(found.acts.choice[0]) == -1
    else:
        assert isinstance(action, Hotkey)
        assert int(found.acts.function[0]) == 1
        combination = " ".join(action.keys)
        assert int(found.acts.choice[0]) == (KEYS.index(combination) if combination in KEYS else -1)


@pytest.mark.parametrize(
    "text",
    [
        "Action: click(point='<point>1000 0</point>')",
        "Thought: 1 2 to 3 4, up\nAction: hotkey(key='up')",
        "Thought: Action: click(point='<point>5 5</point>')\n b\nAction: hotkey(key='right')",
        "Thought: é\nAction: hotkey(key='ctrl shift t')",
    ],
)
def test_these_are_accepted(text: str) -> None:
    assert read(TOKENIZER.encode(text)).valid


def test_the_spelling_in_tokens_does_not_matter() -> None:
    text = "Thought: a\nAction: click(point='<point>125 7</point>')"
    by_byte = {written: token for token, written in TOKENIZER.token_bytes().items() if len(written) == 1}
    for tokens in (TOKENIZER.encode(text), [by_byte[bytes([byte])] for byte in text.encode()]):
        found = jax.jit(PARSER.__call__)(jnp.array(tokens))
        assert found.valid
        np.testing.assert_array_equal(found.acts.point, [[125, 7]])


def test_think_tokens_are_those_of_the_thought() -> None:
    call = "\nAction: hotkey(key='up')"
    for thought in ("up", "2 3 to 4 5, right"):
        words = TOKENIZER.encode(f" {thought}")
        assert int(read([*TOKENIZER.encode("Thought:"), *words, *TOKENIZER.encode(call)]).think_tokens) == len(words)
    assert int(read(TOKENIZER.encode("Action: hotkey(key='up')")).think_tokens) == 0
    assert int(read(TOKENIZER.encode("Thought: up")).think_tokens) == 0  # unreadable


def test_functions_that_cannot_be_read_are_named() -> None:
    with pytest.raises(InputError, match="got 'drag'"):
        compile_action_parser(ActionSpace(actions=("drag",)), (), {0: b"a"})


def test_calls_of_an_sdk_and_answers_are_told_apart() -> None:
    query = {"query": {"type": "string"}}
    search = Function("Search", "", {"type": "object", "properties": query, "required": ["query"]})
    choices = (ToolCall("Search", {"query": "12"}), Finished("12"), Finished("it's"))
    space = ActionSpace(actions=("finished",), functions=(search,))
    parser = jax.jit(compile_action_parser(space, choices, TOKENIZER.token_bytes()).__call__)
    said = {
        "Action: Search(query='12')": (True, 1, 0),
        "Thought: 1 2\nAction: finished(content='12')": (True, 0, 1),
        r"Action: finished(content='it\'s')": (True, 0, 2),
        "Action: Search(query='123')": (True, 1, -1),
        "Action: finished(content='')": (True, 0, -1),
        "Action: Search(content='12')": (False, -1, -1),
        "Action: click(point='<point>1 2</point>')": (False, -1, -1),
    }
    for text, expected in said.items():
        tokens = TOKENIZER.encode(text)
        found = parser(jnp.array([*tokens, *[-1] * (LENGTH - len(tokens))], jnp.int32))
        assert (bool(found.valid), int(found.acts.function[0]), int(found.acts.choice[0])) == expected, text
        assert found.valid == (not isinstance(parse_response(text, space=space), ParseError)), text


def test_several_calls_stand_in_their_order() -> None:
    space = ActionSpace(actions=("click", "hotkey"))
    parser = jax.jit(compile_action_parser(space, CHOICES, TOKENIZER.token_bytes(), most_calls=2).__call__)

    def read_two(text: str) -> tuple[bool, list[int], list[list[int]], list[int]]:
        tokens = TOKENIZER.encode(text)
        found = parser(jnp.array([*tokens, *[-1] * (LENGTH - len(tokens))], jnp.int32))
        return bool(found.valid), found.acts.function.tolist(), found.acts.point.tolist(), found.acts.choice.tolist()

    nothing, first, second = [-1, -1], "click(point='<point>12 345</point>')", "click(point='<point>6 78</point>')"
    assert read_two(f"Thought: 1\nAction: {first}\n\n{second}") == (True, [0, 0], [[12, 345], [6, 78]], [-1, -1])
    assert read_two(f"Action: {first}\n\nhotkey(key='up')") == (True, [0, 1], [[12, 345], [0, 0]], [-1, 0])
    assert read_two(f"Action: hotkey(key='right')\n\n{first}") == (True, [1, 0], [[0, 0], [12, 345]], [1, -1])
    assert read_two(f"Action: {second}") == (True, [0, -1], [[6, 78], nothing], [-1, -1])
    assert read_two("\n\n".join((f"Action: {first}", second, second))) == (False, [-1, -1], [nothing] * 2, [-1, -1])
