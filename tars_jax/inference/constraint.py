"""Constrained decoding: a regular expression as a table over tokens, so that only answers that match it are sampled.

Axes: Q states, V vocabulary, C classes of tokens that lead everywhere to the same states.

A state also knows the fewest tokens to the end of an answer. A token is allowed when the answer can still be completed
within its budget, so every sampled answer is complete, the stop token included. State 0 is freedom: it allows
everything and stays; a slot without a constraint is in it, and one program serves all slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import outlines_core

from tars_jax import InputError

FREE = 0
NEVER = np.iinfo(np.int32).max  # a distance: no answer ends from here


@flax.struct.dataclass
class Constraints:
    """Any number of constraints in one table."""

    token_class: Any  # [V] int32
    next_state: Any  # [Q, C] int32, -1 where a class is forbidden
    distance: Any  # [Q] int32: fewest tokens to the end, the stop token included
    start: Mapping[str, int] = flax.struct.field(pytree_node=False)

    def allowed(self, state: jax.Array, budget: jax.Array) -> jax.Array:
        """[V] bool: the tokens that leave an answer which can be completed; `budget` counts the token itself."""
        after = self.next_state[state]
        return ((after >= 0) & (self.distance[jnp.maximum(after, 0)] < budget))[self.token_class]

    def after(self, state: jax.Array, token: jax.Array) -> jax.Array:
        """The state behind an allowed token."""
        return self.next_state[state, self.token_class[token]]

    def shortest(self, name: str) -> int:
        """Fewest tokens of an answer. Raises InputError when there is no constraint of this name."""
        if name not in self.start:
            known = ", ".join(sorted(self.start)) or "none: the engine has no constraints"
            raise InputError(f"constraint is {name!r}, it takes one of {known}")
        return int(self.distance[self.start[name]])


def compile_constraints(
    patterns: Mapping[str, str], tokens: Mapping[int, bytes], *, stop: int, vocabulary: int
) -> Constraints:
    """Tables for patterns (Rust's `regex` syntax) over a vocabulary.

    Args:
      patterns: by name; an answer is a full match, followed by `stop`.
      tokens: the bytes that each token stands for; tokens that are missing are never sampled under a constraint.
      stop: the token that ends an answer.
      vocabulary: V.

    Raises InputError for a pattern that is none, or that no sequence of tokens matches.
    """
    spelled: dict[bytes, list[int]] = {}
    for token, written in tokens.items():
        if written and token != stop:
            spelled.setdefault(written, []).append(token)
    known = outlines_core.Vocabulary(stop, spelled)

    everything = np.arange(vocabulary)
    rows, start, ends = [_Row(everything, np.full(vocabulary, FREE))], dict[str, int](), [FREE]
    for name, pattern in patterns.items():
        of_pattern, start[name] = _rows(name, pattern, known, stop, len(rows))
        rows += of_pattern
        ends.append(len(rows) - 1)
    token_class = _classes(rows, vocabulary)
    next_state = np.full((len(rows), 1 + token_class.max()), -1, np.int32)
    for state, row in enumerate(rows):
        next_state[state, token_class[row.tokens]] = row.targets
    distance = _distances(next_state, ends)
    for name, state in start.items():
        if distance[state] == NEVER:
            raise InputError(f"constraint {name}: the vocabulary has no tokens that match the pattern")
    return Constraints(token_class, next_state, distance, start)


class _Row(NamedTuple):
    """From one state: tokens that are allowed, and the state behind each. Most states allow few of many tokens."""

    tokens: np.ndarray
    targets: np.ndarray


def _rows(name: str, pattern: str, known: Any, stop: int, first: int) -> tuple[list[_Row], int]:
    """Of all states, numbered from `first` on, with the end as last one; and the state that an answer begins in."""
    try:
        index = outlines_core.Index(pattern, known)
    except ValueError as error:
        raise InputError(f"constraint {name}: {error}") from error
    transitions = index.get_transitions()
    final = set(index.get_final_states())
    targets = {target for row in transitions.values() for target in row.values()}
    states = sorted({index.get_initial_state(), *final, *transitions, *targets})
    number = {state: place for place, state in enumerate(states, start=first)}
    rows = []
    for state in states:
        onward = {token: number[target] for token, target in transitions.get(state, {}).items() if token != stop}
        if state in final:
            onward[stop] = first + len(states)
        rows.append(_Row(np.array(list(onward), np.int64), np.array(list(onward.values()), np.int64)))
    return [*rows, _Row(np.empty(0, np.int64), np.empty(0, np.int64))], number[index.get_initial_state()]


def _classes(rows: Sequence[_Row], vocabulary: int) -> np.ndarray:
    """[V] int32 from 0 on: one class, split by each state into those that lead from it to one state and the others.

    A table of all states and tokens would take gigabytes for the vocabularies of open models.
    """
    found, fresh = np.zeros(vocabulary, np.int64), 1
    for tokens, targets in rows:
        together, part = np.unique(found[tokens] * len(rows) + targets, return_inverse=True)
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
