"""Corridor: a sign at the start says which way to turn at the far end, which is reached when the sign is long gone.

The environment `corridor` in pixels: whoever sees the last steps alone turns the right way one time in four.
"""

from __future__ import annotations

import dataclasses

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action
from tars_jax.environment import ActionSpace
from tars_jax.envs.on_device.arrows import CELL, move_of
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import ARROWS, DIRECTIONS, square

AHEAD = DIRECTIONS.index("up")
FLOOR, SIGN, AHEAD_COLOR, END = (236, 240, 245), (230, 60, 50), (40, 100, 220), (40, 160, 70)
MOST = 15  # steps of a corridor: what its picture can count


@flax.struct.dataclass
class Walk:
    """Position of the walker in the corridor."""

    way: jax.Array  # [] int32: what the sign says
    length: jax.Array  # [] int32: steps from the sign to the end
    gone: jax.Array  # [] int32: steps
    turned: jax.Array  # [] int32: the way that was taken at the end; NOTHING before


@dataclasses.dataclass(frozen=True)
class Corridor:
    """`shortest` to `longest` steps ahead from the sign to the end. A wrong turn at the end is the end; elsewhere any
    way but ahead leads nowhere, and takes a step all the same."""

    shortest: int = 5
    longest: int = 7

    instruction: str = dataclasses.field(default="turn", init=False)
    size: tuple[int, int] = dataclasses.field(default=(2 * CELL, 2 * CELL), init=False)
    space: ActionSpace = dataclasses.field(default=ActionSpace(actions=("hotkey",)), init=False)
    choices: tuple[Action, ...] = dataclasses.field(default=ARROWS, init=False)
    calls: tuple[Action, ...] = dataclasses.field(default=ARROWS, init=False)
    words: tuple[str, ...] = dataclasses.field(default=(*(f" {word}" for word in DIRECTIONS), " on"), init=False)
    most_calls: int = dataclasses.field(default=1, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest <= MOST:
            raise InputError(
                f"a corridor's steps must be 1 to {MOST}, shortest first; got {self.shortest} to {self.longest}"
            )

    def reset(self, key: jax.Array) -> Walk:
        way_key, length_key = jax.random.split(key)
        way = jax.random.randint(way_key, (), 0, len(DIRECTIONS))
        length = jax.random.randint(length_key, (), self.shortest, self.longest + 1)
        return Walk(way, length, jnp.int32(0), jnp.int32(NOTHING))

    def step(self, state: Walk, act: DeviceCall) -> tuple[Walk, jax.Array, jax.Array]:
        at_end = state.gone == state.length
        turns = at_end & (act.choice != NOTHING)
        walks = ~at_end & (act.choice == AHEAD)
        after = dataclasses.replace(
            state, gone=state.gone + walks, turned=jnp.where(turns, act.choice, state.turned).astype(jnp.int32)
        )
        return after, self.succeeded(after).astype(jnp.float32), turns

    def draw(self, state: Walk) -> jax.Array:
        """At the sign a bar along the side that is meant; on the way what is left of it; at the end a green square."""
        at_start, at_end = state.gone == 0, state.gone == state.length
        bars = jnp.asarray(_SIGNS)[state.way]
        left = state.length - state.gone
        row = jnp.arange(2 * CELL)[:, None, None]
        ahead = jnp.where(row < 2 * left, jnp.array(AHEAD_COLOR, jnp.uint8), jnp.array(FLOOR, jnp.uint8))
        ahead = jnp.broadcast_to(ahead, bars.shape)
        return jnp.where(at_start, bars, jnp.where(at_end, jnp.asarray(_END), ahead)).astype(jnp.uint8)

    def succeeded(self, state: Walk) -> jax.Array:
        return state.turned == state.way

    def known(self, state: Walk) -> jax.Array:
        return state.length - state.gone + 1

    def expert(self, state: Walk, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """Says the way at the sign and the turn at the end, and " on" between; mistakes are turns."""
        skill_key, any_key = jax.random.split(key)
        at_end = state.gone == state.length
        best = jnp.where(at_end, state.way, AHEAD)
        move = move_of(best, jnp.ones(len(DIRECTIONS), bool), skill, skill_key, any_key)
        move = jnp.where(at_end, move, AHEAD)
        said = jnp.where(at_end, move, jnp.where(state.gone == 0, state.way, len(DIRECTIONS)))
        return ExpertPlan(said.astype(jnp.int32)[None], move.astype(jnp.int32)[None])


def _sign(way: int) -> np.ndarray:
    """uint8 [2 S, 2 S, 3]: a bar along the side that is pointed to."""
    board = np.empty((2 * CELL, 2 * CELL, 3), np.uint8)
    board[:] = FLOOR
    bar = (slice(0, CELL), slice(CELL, None))
    if way in (0, 2):
        board[bar[way == 2]] = SIGN
    else:
        board[:, bar[way == 1]] = SIGN
    return board


_SIGNS = np.stack([_sign(way) for way in range(len(DIRECTIONS))])
_END = square(2 * CELL, END, FLOOR, 2)
