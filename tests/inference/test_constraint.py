"""Tables of constraints against a hand-derived automaton, and random walks against the parser."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent import parse_response
from tars_jax.agent.grammar import GRAMMARS
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.response import ParseError
from tars_jax.environment import ActionSpace, Function
from tars_jax.inference.constraint import (
    FREE,
    Constraints,
    Spelling,
    compile_constraints,
    extend_constraints,
    padded_constraints,
    unconstrained,
)
from tars_jax.model.tokenizer import load_tokenizer

A, B, AB, STOP, SECOND_A = 0, 1, 2, 3, 4
TOKENS = {A: b"a", B: b"b", AB: b"ab", SECOND_A: b"a"}


def allowed(constraints: Constraints, state: int, budget: int) -> set[int]:
    return set(np.flatnonzero(constraints.allowed(jnp.int32(state), jnp.int32(budget))).tolist())


def after(constraints: Constraints, state: int, *tokens: int) -> int:
    for token in tokens:
        state = int(constraints.after(jnp.int32(state), jnp.int32(token)))
    return state


def test_tokens_of_a_small_pattern() -> None:
    constraints = jax.tree.map(jnp.asarray, compile_constraints({"x": "a(ab)*b"}, TOKENS, stop=STOP, vocabulary=6))
    start = constraints.start["x"]
    # ab|stop is the shortest answer; "aabb" is a|ab|b|stop.
    assert constraints.shortest("x") == 2
    assert allowed(constraints, start, 9) == {A, SECOND_A, AB}
    assert allowed(constraints, start, 2) == {AB}  # a|b|stop takes one token more
    assert allowed(constraints, start, 1) == set()
    assert allowed(constraints, after(constraints, start, A), 9) == {A, SECOND_A, B, AB}
    assert allowed(constraints, after(constraints, start, A), 2) == {B}
    assert allowed(constraints, after(constraints, start, A, A), 9) == {B}
    assert allowed(constraints, after(constraints, start, AB), 9) == {STOP}
    assert after(constraints, start, A, B) == after(constraints, start, AB) == after(constraints, start, A, AB, B)


def test_an_answer_goes_on_behind_a_shorter_one() -> None:
    constraints = jax.tree.map(jnp.asarray, compile_constraints({"x": "a(bba)?"}, TOKENS, stop=STOP, vocabulary=6))
    whole = after(constraints, constraints.start["x"], A)
    assert allowed(constraints, whole, 9) == {STOP, B}
    assert allowed(constraints, after(constraints, whole, B), 9) == {B}
    assert allowed(constraints, after(constraints, whole, B, B, A), 9) == {STOP}


def test_a_table_grows_behind_what_it_has() -> None:
    """States keep their numbers and what they allow, with room or without; and so does freedom."""
    spelling = Spelling.of(TOKENS, STOP, 6)
    first = extend_constraints(unconstrained(6), {"x": "a(ab)*b"}, spelling)
    both = extend_constraints(first, {"y": "b+"}, spelling)
    roomy = jax.tree.map(jnp.asarray, padded_constraints(both))
    first, both = (jax.tree.map(jnp.asarray, each) for each in (first, both))
    assert both.start["x"] == first.start["x"] and both.start["y"] >= len(first.next_state)
    for grown in (both, roomy):
        for state in range(len(first.next_state)):
            for budget in (1, 2, 9):
                assert allowed(grown, state, budget) == allowed(first, state, budget)
        assert allowed(grown, grown.start["y"], 9) == {B}
        assert allowed(grown, after(grown, grown.start["y"], B), 9) == {B, STOP}
    assert roomy.next_state.shape == (1024, 128)


def test_freedom_allows_everything_and_stays() -> None:
    constraints = jax.tree.map(jnp.asarray, compile_constraints({"x": "ab"}, TOKENS, stop=STOP, vocabulary=6))
    assert allowed(constraints, FREE, 1) == set(range(6))
    assert after(constraints, FREE, A, STOP, 5) == FREE


def test_several_patterns_share_a_table() -> None:
    both = jax.tree.map(jnp.asarray, compile_constraints({"x": "ab", "y": "b+"}, TOKENS, stop=STOP, vocabulary=6))
    assert allowed(both, both.start["x"], 9) == {A, SECOND_A, AB}
    assert allowed(both, both.start["y"], 9) == {B}
    assert allowed(both, after(both, both.start["y"], B), 9) == {B, STOP}
    assert allowed(both, after(both, both.start["y"], B), 1) == {STOP}
    assert allowed(both, after(both, both.start["x"], AB), 9) == {STOP}


LISTS: dict[str, Any] = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 6}},
}
COUNT = {"type": "integer", "minimum": 1, "maximum": 90}
SPACE = ActionSpace(
    "tools",
    ("wait", "finished"),
    (
        *(Function(name, "", {**LISTS, "properties": {**LISTS["properties"], "count": COUNT}}) for name in "abcdef"),
        Function("look", "", {"type": "object", "properties": {"unit": {"enum": ["m", 5]}}, "required": ["unit"]}),
    ),
)


@pytest.mark.parametrize("space", [None, SPACE], ids=["gui", "functions"])
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_random_walks_write_answers_that_are_parsed(grammar: str, space: ActionSpace | None) -> None:
    """An aimless policy under every budget: always a complete answer of typed actions, within the budget."""
    tokenizer = load_tokenizer()
    constraints = compile_constraints(
        {"call": response_pattern(grammar, space=space)},
        tokenizer.token_bytes(),
        stop=tokenizer.end,
        vocabulary=tokenizer.vocabulary,
    )
    rng = np.random.default_rng(0)
    shortest, seen = constraints.shortest("call"), set()
    for walk in range(150):
        budget = shortest + walk % 50
        state, answer = constraints.start["call"], list[int]()
        while not answer or answer[-1] != tokenizer.end:
            onward = constraints.next_state[state]
            fits = (onward >= 0) & (constraints.distance[onward] < budget - len(answer))
            choices = np.flatnonzero(fits[constraints.token_class])
            answer.append(int(rng.choice(choices)))
            state = int(onward[constraints.token_class[answer[-1]]])
        assert len(answer) <= budget
        response = parse_response(tokenizer.decode(answer[:-1]), grammar, space=space)
        assert not isinstance(response, ParseError), (response, tokenizer.decode(answer))
        seen |= {action.name for action in response.actions}
    assert len(seen) >= 8


def test_a_wrong_pattern_is_named() -> None:
    for pattern, words in (("a(", r"pattern must be a regular expression; got 'a\('"), ("z", "")):
        with pytest.raises(InputError, match=f"constraint bad: {words}"):
            compile_constraints({"bad": pattern}, TOKENS, stop=STOP, vocabulary=6)
    with pytest.raises(InputError, match="one of x; got 'other'"):
        compile_constraints({"x": "a"}, TOKENS, stop=STOP, vocabulary=6).shortest("other")
