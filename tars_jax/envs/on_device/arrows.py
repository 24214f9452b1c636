"""Common part of board games that are played with the arrow keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from tars_jax.agent.actions import Action
from tars_jax.environment import ActionSpace
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import ARROWS, DIRECTIONS, any_of

CELL = 16  # pixels a side
Rules = TypeVar("Rules")


@dataclasses.dataclass(frozen=True)
class ArrowGame:
    """A square board of `side` cells a side; thoughts name directions and cells."""

    side: int = 6

    space: ActionSpace = dataclasses.field(default=ActionSpace(actions=("hotkey",)), init=False)
    choices: tuple[Action, ...] = dataclasses.field(default=ARROWS, init=False)
    calls: tuple[Action, ...] = dataclasses.field(default=ARROWS, init=False)
    most_calls: int = dataclasses.field(default=1, init=False)

    @property
    def size(self) -> tuple[int, int]:
        return self.side * CELL, self.side * CELL

    @property
    def words(self) -> tuple[str, ...]:
        """Directions, then numbers, then what joins them."""
        return (*(f" {word}" for word in DIRECTIONS), *(f" {place}" for place in range(self.side)), " to", ",")


def unchecked(make: Callable[[], Rules]) -> Rules:
    """jumanji's rules, which check their own specs when they are made: a trace would make those unknown."""
    with jax.ensure_compile_time_eval():
        return make()


def moved(after: Any, before: Any, act: DeviceCall) -> Any:
    """The state after a key; `before` where none of the game's keys was pressed."""
    return jax.tree.map(lambda new, old: jnp.where(act.choice == NOTHING, old, new), after, before)


def move_of(
    best: jax.Array, allowed: jax.Array, skill: jax.Array, skill_key: jax.Array, any_key: jax.Array
) -> jax.Array:
    """`best` with probability `skill`, else any move that is allowed [4]."""
    return jnp.where(jax.random.uniform(skill_key) < skill, best, any_of(any_key, allowed)).astype(jnp.int32)


def plan(words: list[Any], move: jax.Array) -> ExpertPlan:
    """Words are whole numbers, traced or not."""
    return ExpertPlan(jnp.stack([jnp.asarray(word, jnp.int32) for word in words]), move[None])
