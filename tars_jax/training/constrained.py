"""Tokens that a constraint allowed at each sampled token, so that learner and engine mean the same probability.

An engine that samples under a constraint draws each token among those that it allows. Which these were follows from the
answer: the state that the constraint was in, and how many tokens the answer had left. Axes: R rows, T tokens of a row,
N trajectories, A action tokens of a trajectory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.training.packing import ANSWER, LINE, PackedBatch, Rows

FREE = 0  # the state that allows everything and stays: of tokens that nobody constrained


class Automaton(Protocol):
    """A table over tokens, as `tars_jax.inference.constraint.Constraints` is one; a tree of arrays."""

    token_class: Any  # [V] int32
    next_state: Any  # [Q, C] int32, -1 where a class is forbidden

    def __hash__(self) -> int:
        """By identity, so that functions can be kept by it."""
        ...

    def allowed(self, state: jax.Array, budget: jax.Array) -> jax.Array:
        """[V] bool: the tokens that could be drawn; `budget` counts the token itself."""
        ...

    def classes(self, state: Any, budget: Any) -> Any:
        """[..., C] bool: the classes of these tokens, of states and budgets [...]."""
        ...


class Allowed(NamedTuple):
    """The tokens that each token of rows [B, T] was sampled from."""

    automaton: Automaton
    states: jax.Array  # [B, T] int32: before the token
    budgets: jax.Array  # [B, T] int32: tokens that were left for the answer, this one included

    def mask(self) -> jax.Array:
        """[B, T, V] bool."""
        automaton: Automaton = jax.tree.map(jnp.asarray, self.automaton)
        return jax.vmap(jax.vmap(automaton.allowed))(self.states, self.budgets)


def allowed_in(automaton: Automaton | None, rows: Rows) -> Allowed | None:
    """Follows the constraint through the rows, and returns the tokens that it allowed at each position."""
    return None if automaton is None else Allowed(automaton, rows.states, rows.budgets)


@dataclasses.dataclass(frozen=True)
class AnswerConstraint:
    """The constraint under which all answers are sampled."""

    automaton: Automaton
    start: int  # its state before the first token of an answer
    max_new_tokens: int  # of an answer

    def followed(self, packed: PackedBatch) -> PackedBatch:
        """The batch whose action tokens are decisions, and whose rows say what the constraint left at each.

        Where it left one token, nothing was decided: that token is like one that was read, and has no part in losses,
        means, lengths, nor in the time of GAE. From a token on that it forbids, the rest of an answer is free: somebody
        else wrote it.
        """
        tokens = np.asarray(packed.rows.inputs.tokens).ravel()[packed.action_index]
        states, budgets = self._follow(tokens, packed.begins)
        decided = packed.action_valid & ~self._forced(states, budgets)
        shape, at = packed.rows.action_mask.shape, packed.action_index[decided]
        row_states, row_budgets = np.full(shape, FREE, np.int32), np.zeros(shape, np.int32)
        row_states.ravel()[at], row_budgets.ravel()[at] = states[decided], budgets[decided]
        action_mask = np.zeros(shape, bool)
        action_mask.ravel()[at] = True
        rows = packed.rows.replace(  # type: ignore[attr-defined]
            action_mask=action_mask, states=row_states, budgets=row_budgets
        )
        return dataclasses.replace(packed, rows=rows, action_valid=decided)

    def decisions(self, answer: Sequence[int]) -> int:
        """Number of tokens of one answer that were chosen among several."""
        tokens = np.asarray(answer, np.int64)[None]
        begins = np.where(np.arange(tokens.size) == 0, ANSWER, 0)[None]
        return int((~self._forced(*self._follow(tokens, begins))).sum())

    def _follow(self, tokens: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state before each of tokens [N, A], and what was left of its answer's budget; `begins` as packed, where
        lines of memory are free."""
        token_class, next_state = np.asarray(self.automaton.token_class), np.asarray(self.automaton.next_state)
        classes = token_class[tokens]
        states, budgets = np.zeros(classes.shape, np.int32), np.zeros(classes.shape, np.int32)
        state, budget = np.zeros(len(classes), np.int32), np.zeros(len(classes), np.int32)
        for place in range(classes.shape[1]):
            begun = np.where(begins[:, place] == LINE, FREE, self.start)
            state = np.where(begins[:, place], begun, state)
            budget = np.where(begins[:, place], self.max_new_tokens, budget - 1)
            after = next_state[state, classes[:, place]]
            states[:, place], budgets[:, place] = np.where(after < 0, FREE, state), budget
            state = np.where(after < 0, FREE, after)
        return states, budgets

    def _forced(self, states: np.ndarray, budgets: np.ndarray) -> np.ndarray:
        """[N, A] bool: the constraint left one token."""
        token_class = np.asarray(self.automaton.token_class)
        pairs, of_pair = np.unique(np.stack([states.ravel(), budgets.ravel()]), axis=1, return_inverse=True)
        classes = np.asarray(self.automaton.classes(*pairs))
        choices = classes @ np.bincount(token_class, minlength=classes.shape[1])
        return (states != FREE) & (choices[of_pair.ravel()].reshape(states.shape) == 1)
