"""Constrained decoding: a regular expression as a table over tokens, so that only answers that match it are sampled.

Axes: Q states, V vocabulary, C classes of tokens that lead everywhere to the same states.

A state also knows the fewest tokens to the end of an answer. A token is allowed when the answer can still be completed
within its budget, so every sampled answer is complete, the stop token included. State 0 is freedom: it allows
everything and stays; a slot without a constraint is in it, and one program serves all slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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

    rows = [np.zeros((1, vocabulary), np.int32)]
    start: dict[str, int] = {}
    for name, pattern in patterns.items():
        table, first = _table(name, pattern, known, stop, vocabulary)
        offset = sum(map(len, rows))
        start[name] = offset + first
        rows.append(np.where(table < 0, -1, table + offset))
    columns, token_class = np.unique(np.concatenate(rows), axis=1, return_inverse=True)
    ends = np.cumsum([len(each) for each in rows]) - 1  # the last state of each table is its end; freedom is one too
    distance = _distances(columns, ends)
    for name, state in start.items():
        if distance[state] == NEVER:
            raise InputError(f"constraint {name}: the vocabulary has no tokens that match the pattern")
    return Constraints(token_class.reshape(-1).astype(np.int32), columns, distance, start)


def _table(name: str, pattern: str, known: Any, stop: int, vocabulary: int) -> tuple[np.ndarray, int]:
    """[Q, V] with the end as last state, and the first state."""
    try:
        index = outlines_core.Index(pattern, known)
    except ValueError as error:
        raise InputError(f"constraint {name}: {error}") from error
    transitions = index.get_transitions()
    final = index.get_final_states()
    states = sorted({index.get_initial_state(), *final, *transitions, *_targets(transitions)})
    number = {state: place for place, state in enumerate(states)}
    table = np.full((len(states) + 1, vocabulary), -1, np.int32)
    for state, row in transitions.items():
        targets = [number[target] for target in row.values()]
        table[number[state], list(row)] = targets
    table[:, stop] = -1
    table[[number[state] for state in final], stop] = len(states)
    return table, number[index.get_initial_state()]


def _targets(transitions: Mapping[int, Mapping[int, int]]) -> set[int]:
    return {target for row in transitions.values() for target in row.values()}


def _distances(next_state: np.ndarray, ends: Sequence[int] | np.ndarray) -> np.ndarray:
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
