"""What must be written is written in the tokenizer's own tokens; where there is a choice, all of them stay."""

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.agent.pattern import response_pattern
from tars_jax.environment import ActionSpace, Function
from tars_jax.inference.canonical_spelling import Encode, spelled_one_way
from tars_jax.inference.constraint import Constraints, compile_constraints
from tars_jax.model.tokenizer import load_tokenizer

A, B, C, AB, BC, STOP = range(6)
TOKENS = {A: b"a", B: b"b", C: b"c", AB: b"ab", BC: b"bc"}


def encode(text: str) -> list[int]:
    """Joins b and c first, then a and b, as a tokenizer would whose merges are `bc`, `ab`."""
    whole = {"a": A, "b": B, "c": C, "ab": AB, "bc": BC}
    parts = list(text)
    for pair in ("bc", "ab"):
        for place in range(len(parts) - 1, 0, -1):
            if parts[place - 1] + parts[place] == pair:
                parts[place - 1 : place + 1] = [pair]
    return [whole[part] for part in parts]


def test_one_text_is_written_in_one_way() -> None:
    """ "abc" is a|bc here, then the end. States: 0 -a-> 1 -b-> 2 -c-> 3."""
    rows = [{A: 1, AB: 2}, {B: 2, BC: 3}, {C: 3}, {STOP: 4}, {}]
    assert spelled_one_way(rows, 0, TOKENS, STOP, encode) == [{A: 1}, {BC: 3}, {C: 3}, {STOP: 4}, {}]


def test_what_may_follow_keeps_ways_open() -> None:
    """ "a" then "b" or "c": with a "b" behind it the a is no token of its own, so nothing is settled."""
    rows = [{A: 1, AB: 2}, {B: 2, C: 2}, {STOP: 3}, {}]
    assert spelled_one_way(rows, 0, TOKENS, STOP, encode) == rows


def test_an_end_is_a_choice() -> None:
    """ "a", or "ab"."""
    rows = [{A: 1, AB: 2}, {B: 2, STOP: 3}, {STOP: 3}, {}]
    assert spelled_one_way(rows, 0, TOKENS, STOP, encode) == rows


def walked(constraints: Constraints, tokens: list[int]) -> list[int]:
    """How many tokens are allowed before each of these, all of which are."""
    state, counts = constraints.start["text"], []
    for token in tokens:
        allowed = np.flatnonzero(constraints.allowed(jnp.int32(state), jnp.int32(40)))
        assert token in allowed
        counts.append(len(allowed))
        state = int(constraints.after(jnp.int32(state), jnp.int32(token)))
    return counts


def test_of_a_call_nothing_but_the_argument_is_drawn() -> None:
    tokenizer = load_tokenizer()
    yes = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    space = ActionSpace("tools", functions=(Function("answer", "Answers.", yes),))
    pattern = response_pattern("text", space=space, thought="never")

    def compiled(encode: Encode | None) -> Constraints:
        found = compile_constraints(
            {"text": pattern}, tokenizer.token_bytes(), stop=tokenizer.end, vocabulary=768, encode=encode
        )
        return jax.tree.map(jnp.asarray, found)

    for word in ("true", "false"):
        answer = [*tokenizer.encode(f"Action: answer(yes={word})"), tokenizer.end]
        counts = walked(compiled(tokenizer.encode), answer)
        free = walked(compiled(None), answer)
        assert sum(count > 1 for count in counts) <= 2 < sum(count > 1 for count in free)
