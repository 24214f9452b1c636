"""Constrained decoding: a regular expression as a table over tokens, so that only answers that match it are sampled.

Axes: Q states, V vocabulary, C classes of tokens that lead everywhere to the same states.

A state also knows the fewest tokens to the end of an answer. A token is allowed when the answer can still be completed
within its budget, so every sampled answer is complete, the stop token included. State 0 is freedom: it allows
everything and stays; a slot without a constraint is in it, and one program serves all slots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import outlines_core

from tars_jax import InputError
from tars_jax.inference.canonical_spelling import Encode, Row, spelled_one_way

NO_PATTERN = "DFA"  # in what outlines_core says of a text that is no regular expression
FREE = 0
BEGINNING = b"\x00"  # best not matched by patterns
NEVER = np.iinfo(np.int32).max  # a distance: no answer ends from here
ROOM = (1024, 128)  # states and classes of a table that grows


@flax.struct.dataclass(eq=False)  # one is equal to itself alone: functions are kept by it
class Constraints:
    """Any number of constraints in one table."""

    token_class: Any  # [V] int32
    next_state: Any  # [Q, C] int32, -1 where a class is forbidden
    distance: Any  # [Q] int32: fewest tokens to the end, the stop token included
    start: Mapping[str, int] = flax.struct.field(pytree_node=False)

    def allowed(self, state: jax.Array, budget: jax.Array) -> jax.Array:
        """[V] bool: the tokens that leave an answer which can be completed; `budget` counts the token itself."""
        return self.classes(state, jnp.asarray(budget))[self.token_class]

    def classes(self, state: Any, budget: Any) -> Any:
        """[..., C] bool: the classes of these tokens, of states and budgets [...]; arrays of NumPy's or of jax's."""
        after = self.next_state[state]
        return (after >= 0) & (self.distance[after] < budget[..., None])

    def after(self, state: jax.Array, token: jax.Array) -> jax.Array:
        """The state behind an allowed token."""
        return self.next_state[state, self.token_class[token]]

    def shortest(self, name: str) -> int:
        """Fewest tokens of an answer. Raises InputError when there is no constraint of this name."""
        if name not in self.start:
            known = ", ".join(sorted(self.start)) or "none: the engine has no constraints"
            raise InputError(f"constraint must be one of {known}; got {name!r}")
        return int(self.distance[self.start[name]])


def constraint_name(pattern: str) -> str:
    """The name under which engines and servers of a run have its pattern."""
    return f"run-{hashlib.sha256(pattern.encode()).hexdigest()[:16]}"


def compile_constraints(
    patterns: Mapping[str, str],
    tokens: Mapping[int, bytes],
    *,
    stop: int,
    vocabulary: int,
    encode: Encode | None = None,
) -> Constraints:
    """Tables for patterns (Rust's `regex` syntax) over a vocabulary.

    Args:
      patterns: by name; an answer is a full match, followed by `stop`.
      tokens: the bytes that each token stands for; tokens that are missing are never sampled under a constraint.
      stop: the token that ends an answer.
      vocabulary: V.
      encode: the tokenizer's tokens of a text; with it, what a pattern leaves no choice of is written in these alone.

    Raises InputError for a pattern that is none, or that no sequence of tokens matches.
    """
    return extend_constraints(unconstrained(vocabulary), patterns, Spelling.of(tokens, stop, vocabulary, encode))


def unconstrained(vocabulary: int) -> Constraints:
    """The table without any pattern."""
    return Constraints(np.zeros(vocabulary, np.int32), np.full((1, 1), FREE, np.int32), np.zeros(1, np.int32), {})


class Spelling(NamedTuple):
    """The tokens of a vocabulary, as patterns are compiled over them."""

    known: Any  # outlines_core's
    stop: int
    vocabulary: int
    tokens: Mapping[int, bytes]
    encode: Encode | None

    @classmethod
    def of(cls, tokens: Mapping[int, bytes], stop: int, vocabulary: int, encode: Encode | None = None) -> Spelling:
        """Arguments as `compile_constraints` has them."""
        spelled: dict[bytes, list[int]] = {}
        for token, written in tokens.items():
            if written and token != stop:
                spelled.setdefault(written, []).append(token)
        # The automaton is built for matches that begin anywhere, whose states multiply where a pattern matches a part
        # of itself: behind a byte that patterns are free of, there is one beginning.
        spelled.setdefault(BEGINNING, []).append(vocabulary)
        return cls(outlines_core.Vocabulary(stop, spelled), stop, vocabulary, tokens, encode)


def extend_constraints(constraints: Constraints, patterns: Mapping[str, str], spelling: Spelling) -> Constraints:
    """The table with more patterns behind its own: states keep their numbers, so that answers under way go on.

    Raises InputError as `compile_constraints` does.
    """
    first = len(constraints.next_state)
    rows, start, ends = list[_Row](), dict(constraints.start), np.flatnonzero(constraints.distance == 0).tolist()
    for name, pattern in patterns.items():
        of_pattern, start[name] = _rows(name, pattern, spelling, first + len(rows))
        rows += of_pattern
        ends.append(first + len(rows) - 1)
    token_class = _classes(constraints.token_class, rows, first + len(rows))
    _, representative = np.unique(token_class, return_index=True)
    before = constraints.next_state[:, constraints.token_class[representative]]
    next_state = np.concatenate([before, np.full((len(rows), len(representative)), -1, np.int32)])
    for state, row in enumerate(rows, start=first):
        next_state[state, token_class[row.tokens]] = row.targets
    distance = _distances(next_state, ends)
    for name in patterns:
        if distance[start[name]] == NEVER:
            raise InputError(
                f"constraint {name} must have a pattern that tokens of the vocabulary match; got one that none match"
            )
    return Constraints(token_class, next_state, distance, start)


def padded_constraints(constraints: Constraints) -> Constraints:
    """The constraints with room in their table, so that programs are the same while it grows: powers of two, `ROOM` at
    least."""
    table = constraints.next_state
    states, classes = (1 << (max(size, least) - 1).bit_length() for size, least in zip(table.shape, ROOM, strict=True))
    padding = (0, states - table.shape[0]), (0, classes - table.shape[1])
    return constraints.replace(  # type: ignore[attr-defined]
        next_state=np.pad(table, padding, constant_values=-1),
        distance=np.pad(constraints.distance, padding[0], constant_values=NEVER),
    )


class _Row(NamedTuple):
    """From one state: tokens that are allowed, and the state behind each. Most states allow few of many tokens."""

    tokens: np.ndarray
    targets: np.ndarray


def _rows(name: str, pattern: str, spelling: Spelling, first: int) -> tuple[list[_Row], int]:
    """Of all states, numbered from `first` on, with the end as last one; and the state that an answer begins in."""
    stop, beginning = spelling.stop, spelling.vocabulary
    try:
        # The same byte ends a match: without one, outlines_core loses what goes on behind a shorter match.
        index = outlines_core.Index(rf"\x00(?:{pattern})\x00", spelling.known)
    except ValueError as error:
        if NO_PATTERN in str(error):
            raise InputError(
                f"constraint {name}: pattern must be a regular expression; got {pattern!r:.200}"
            ) from error
        raise InputError(f"constraint {name}: {error}") from error
    transitions = index.get_transitions()
    start = transitions.pop(index.get_initial_state())[beginning]
    ends, apart = set(index.get_final_states()), (stop, beginning)
    final = {state for state, row in transitions.items() if row.get(beginning) in ends}
    targets = {target for row in transitions.values() for token, target in row.items() if token not in apart}
    states = sorted({start, *targets})
    number = {state: place for place, state in enumerate(states)}
    found: list[Row] = []
    for state in states:
        onward = {token: number[target] for token, target in transitions.get(state, {}).items() if token not in apart}
        if state in final:
            onward[stop] = len(states)
        found.append(onward)
    found.append({})
    if spelling.encode is not None:
        found = spelled_one_way(found, number[start], spelling.tokens, stop, spelling.encode)
    rows = [_Row(np.array(list(row), np.int64), first + np.array(list(row.values()), np.int64)) for row in found]
    return rows, first + number[start]


def _classes(before: np.ndarray, rows: Sequence[_Row], states: int) -> np.ndarray:
    """[V] int32 from 0 on: the classes before, split by each state into those that lead from it to one state and the
    others.

    A table of all states and tokens would take gigabytes for the vocabularies of open models.
    """
    found, fresh = before.astype(np.int64), int(before.max()) + 1
    for tokens, targets in rows:
        together, part = np.unique(found[tokens] * states + targets, return_inverse=True)
        found[tokens] = fresh + part
        fresh += together.size
    return np.unique(found, return_inverse=True)[1].astype(np.int32)


def _distances(next_state: np.ndarray, ends: Sequence[int]) -> np.ndarray:
    """[Q] fewest steps to an end: relaxed until nothing changes."""
    distance = np.full(len(next_state), NEVER, np.int32)
    distance[ends] = 0
    while True:
        onward = np.where(next_state >= 0, distance[next_state], NEVER).min(axis=1)
        shorter = np.where(onward < distance, onward + (onward < NEVER), distance).astype(np.int32)
        shorter = np.minimum(distance, shorter)
        if np.array_equal(shorter, distance):
            return distance
        distance = shorter
