"""A game as pure functions: what the loop on the device asks of it.

Axes: H, W pixels of a screenshot, N words of a thought, C calls of an answer at most.

A state is any pytree of arrays. Everything here is for one episode; callers vmap. The policy sees `draw` alone, and
acts by the calls of `tars_jax.agent`; what a game does not understand changes nothing and takes a step all the
same.
"""

from __future__ import annotations

from typing import Any, Protocol

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.agent.actions import Action
from tars_jax.environment import ActionSpace

State = Any
NOTHING = -1  # no function, choice or word


@flax.struct.dataclass
class DeviceCall:
    """One call as numbers; all NOTHING where there is no call."""

    function: jax.Array  # [] int32: index into the names of the game's `space`
    point: jax.Array  # [2] int32: x and y of 0..1000, of a call with a point
    choice: jax.Array  # [] int32: index into the game's `choices`; NOTHING for any other call

    @staticmethod
    def nothing() -> DeviceCall:
        return DeviceCall(jnp.int32(NOTHING), jnp.full(2, NOTHING, jnp.int32), jnp.int32(NOTHING))


@flax.struct.dataclass
class ExpertPlan:
    """An expert's thought and action."""

    words: jax.Array  # [N] int32: indices into the game's `words`; NOTHING is skipped
    calls: jax.Array  # [C] int32: indices into the game's `calls`, one after the other; NOTHING behind the last


class DeviceGame(Protocol):
    """One kind of episode. Instances are hashable: compiled programs are kept for each."""

    instruction: str
    size: tuple[int, int]  # H, W
    space: ActionSpace  # the calls that do something: click, hotkey, finished, functions of an SDK
    choices: tuple[Action, ...]  # those without a point that are told apart: hotkey(key='up')
    words: tuple[str, ...]  # of the expert's thoughts, each with the space before it
    calls: tuple[Action, ...]  # what the expert may do
    most_calls: int  # C

    def reset(self, key: jax.Array) -> State:
        """The first state of the level that the key stands for."""
        ...

    def step(self, state: State, act: DeviceCall) -> tuple[State, jax.Array, jax.Array]:
        """The next state, the reward of this step (float32), and whether the episode is over."""
        ...

    def draw(self, state: State) -> jax.Array:
        """The screenshot, uint8 [H, W, 3]."""
        ...

    def succeeded(self, state: State) -> jax.Array:
        """Whether what the instruction asks for is done."""
        ...

    def known(self, state: State) -> jax.Array:
        """[] int32 from 0 to 31: the simulator's own measure of how far there is to go, the value model's yardstick."""
        ...

    def expert(self, state: State, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """Something sensible; with probability 1 - skill the call is any legal one, and the thought ends with it."""
        ...
