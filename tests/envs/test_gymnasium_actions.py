"""Action spaces of gymnasium as one function: its schema, what it takes, what is sampled and drawn."""

from __future__ import annotations

import random
import re
import types
from typing import Any

import jsonschema
import numpy as np
import pytest
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.agent import Response, format_response, parse_response
from tars_jax.agent.grammar import GRAMMARS
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.random_player import random_action
from tars_jax.environment import ActionSpace
from tars_jax.envs.gymnasium_actions import ActFunction
from tars_jax.inference.constraint import compile_constraints
from tars_jax.model.tokenizer import load_tokenizer


def integer(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


def array(count: int, **items: Any) -> dict[str, Any]:
    return {"type": "array", "minItems": count, "maxItems": count, **items}


NUMBER, BOTH = {"type": "number"}, {"type": "number", "minimum": -0.07, "maximum": 0.07}
WORD = {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]*$"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NESTED = spaces.Dict(
    {
        "say": spaces.Text(3, charset=LETTERS),
        "hand": spaces.Tuple((spaces.Discrete(2, start=3), spaces.Dict({"grip now": spaces.Box(-1, 1, (1,))}))),
    }
)
GRIP = {
    "type": "object",
    "properties": {"grip now": array(1, items={"type": "number", "minimum": -1, "maximum": 1})},
    "required": ["grip now"],
    "additionalProperties": False,
}
SPACES: list[tuple[spaces.Space[Any], dict[str, Any], list[Any], list[Any]]] = [
    (spaces.Discrete(3, start=5), {"action": integer(5, 7)}, [5, 7, 6.0], [4, 8, 5.5, "5", True, None]),
    (spaces.MultiDiscrete([2, 2]), {"action": array(2, items=integer(0, 1))}, [[0, 1]], [[0, 2], [0], 1, [0.5, 0]]),
    (
        spaces.MultiDiscrete([2, 4], start=[0, 1]),
        {"action": array(2, prefixItems=[integer(0, 1), integer(1, 4)])},
        [[1, 4]],
        [[3, 1], [1, 0], [1, 1, 1]],
    ),
    (spaces.MultiBinary(3), {"action": array(3, items=integer(0, 1))}, [[0, 1, 1]], [[0, 1, 2]]),
    (spaces.Box(-0.07, 0.07, (1, 2)), {"action": array(2, items=BOTH)}, [[0.07, -0.05]], [[0.5, 0], [[0.05, 0]]]),
    (
        spaces.Box(np.array([0, -np.inf]), np.array([np.inf, 1]), dtype=np.float64),
        {"action": array(2, prefixItems=[{"type": "number", "minimum": 0}, {"type": "number", "maximum": 1}])},
        [[1e6, -1e6]],
        [[-1, 0]],
    ),
    (spaces.Box(-np.inf, np.inf, (17,)), {"action": array(17, items=NUMBER)}, [[0.5] * 17], [[0.5] * 16]),
    (spaces.Box(0, 9, (1,), np.int32), {"action": array(1, items=integer(0, 9))}, [[9]], [[0.5]]),
    (spaces.Text(3, charset=LETTERS), {"action": WORD}, ["abc"], ["", "abcd", "a b", "a\n", 1]),
    (
        spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(2))),
        {"action": array(2, prefixItems=[integer(0, 1), array(2, items=integer(0, 1))])},
        [[1, [0, 1]]],
        [[1], [[0, 1], 1]],
    ),
    (NESTED, {"hand": array(2, prefixItems=[integer(3, 4), GRIP]), "say": WORD}, [], []),
]


def act(**parameters: Any) -> Any:
    return types.SimpleNamespace(name="act", parameters=parameters)


@pytest.mark.parametrize(("space", "properties", "good", "bad"), SPACES, ids=str)
def test_action_spaces(space: spaces.Space[Any], properties: Any, good: list[Any], bad: list[Any]) -> None:
    act_function = ActFunction("x", space)
    parameters = act_function.function.parameters
    assert parameters["properties"] == properties and parameters["required"] == list(properties)
    jsonschema.Draft202012Validator.check_schema(dict(parameters))
    for value in good:
        assert space.contains(act_function.sample(act(action=value)))
    for value in bad:
        with pytest.raises(InputError, match="action must be"):
            act_function.sample(act(action=value))


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize(("space", "properties", "good", "bad"), SPACES, ids=str)
def test_what_is_drawn_is_a_sample_that_can_be_written_and_constrained_decoding_allows(
    space: spaces.Space[Any], properties: Any, good: list[Any], bad: list[Any], grammar: str
) -> None:
    function = ActFunction("x", space)
    calls = ActionSpace("game", functions=(function.function,))
    allowed = re.compile(response_pattern(grammar, space=calls, thought="never"))
    rng = random.Random(0)
    for _ in range(20):
        action = random_action(calls, rng)
        assert space.contains(function.sample(action))
        text = format_response(Response("", (action,)), grammar, space=calls)
        assert allowed.fullmatch(text), text
        read = parse_response(text, grammar, space=calls)
        assert isinstance(read, Response) and read.actions == (action,)


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize(("space", "properties", "good", "bad"), SPACES, ids=str)
def test_whatever_constrained_decoding_samples_is_a_sample(
    space: spaces.Space[Any], properties: Any, good: list[Any], bad: list[Any], grammar: str
) -> None:
    function, tokenizer, rng = ActFunction("x", space), load_tokenizer(), np.random.default_rng(0)
    calls = ActionSpace("game", functions=(function.function,))
    pattern = response_pattern(grammar, space=calls, thought="never")
    table = compile_constraints(
        {"call": pattern}, tokenizer.token_bytes(), stop=tokenizer.end, vocabulary=tokenizer.vocabulary
    )
    for walk in range(10):
        budget, state, answer = table.shortest("call") + 5 * walk, table.start["call"], list[int]()
        while not answer or answer[-1] != tokenizer.end:
            onward = table.next_state[state]
            fits = (onward >= 0) & (table.distance[onward] < budget - len(answer))
            answer.append(int(rng.choice(np.flatnonzero(fits[table.token_class]))))
            state = int(onward[table.token_class[answer[-1]]])
        read = parse_response(tokenizer.decode(answer[:-1]), grammar, space=calls)
        assert isinstance(read, Response) and space.contains(function.sample(read.actions[0])), read


def test_entries_of_a_dictionary_are_the_parameters() -> None:
    sample = ActFunction("x", NESTED).sample(act(say="hi", hand=[4, {"grip now": [0.5]}]))
    assert sample["say"] == "hi" and sample["hand"][0] == 4
    np.testing.assert_array_equal(sample["hand"][1]["grip now"], np.array([0.5], np.float32))
    with pytest.raises(InputError, match="say must be a text of 1 to 3 characters that matches .*; got None"):
        ActFunction("x", NESTED).sample(act(hand=[4, {"grip now": [0.5]}]))
    with pytest.raises(InputError, match="a parameter of act must be one of hand, say; got 'foot'"):
        ActFunction("x", NESTED).sample(act(foot=1, say="hi", hand=[4, {"grip now": [0.5]}]))
    unwritable = ActFunction("x", spaces.Dict({"two words": spaces.Discrete(2)}))
    assert unwritable.sample(act(action={"two words": 1})) == {"two words": 1}


def test_a_list_of_different_numbers_is_said_in_words() -> None:
    with pytest.raises(
        InputError, match=r"action must be a list of 2 items, an integer of 0 to 1, an integer of 1 to 4"
    ):
        ActFunction("x", spaces.MultiDiscrete([2, 4], start=[0, 1])).sample(act(action=[0, 0]))


def test_names_of_actions() -> None:
    named = ActFunction("x", spaces.Discrete(2, start=3), ["stay", "go"])
    assert named.function.parameters["properties"]["action"] == {"type": "string", "enum": ["stay", "go"]}
    assert named.sample(act(action="go")) == 4
    with pytest.raises(InputError, match="""action must be one of "stay", "go"; got 'run'"""):
        named.sample(act(action="run"))
    for space, names in ((spaces.Discrete(3), ["a"]), (spaces.MultiBinary(2), ["a", "b"])):
        with pytest.raises(InputError, match="action_names must name the actions"):
            ActFunction("x", space, names)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Sequence(spaces.Discrete(2)),
        spaces.OneOf([spaces.Discrete(2), spaces.Text(3)]),
        spaces.Graph(spaces.Discrete(2), None),
        spaces.Dict({"a": spaces.Tuple([spaces.Sequence(spaces.Discrete(2))])}),
    ],
    ids=str,
)
def test_action_spaces_that_are_no_function(space: spaces.Space[Any]) -> None:
    with pytest.raises(
        InputError, match="must be Discrete, MultiDiscrete, MultiBinary, Box, Text, or Dict and Tuple of"
    ):
        ActFunction("x", space)


def test_an_action_of_very_many_numbers_is_none() -> None:
    with pytest.raises(InputError, match="at most 32 numbers; got 100"):
        ActFunction("x", spaces.Box(0, 1, (10, 10)))
