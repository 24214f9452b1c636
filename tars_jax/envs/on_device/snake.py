"""Snake: eat the fruit, touch neither wall nor yourself. The rules are jumanji's; time stands still between actions.

Axes: R rows and C columns of the board, both `side`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jumanji.environments.routing.snake.env import Snake as Rules

from tars_jax.envs.on_device.arrows import CELL, ArrowGame, move_of, moved, plan, unchecked
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import DIRECTIONS, MOVES, any_of, disc, paint, square

GROUND, BODY, HEAD, FRUIT = (225, 235, 215), (70, 120, 60), (20, 50, 120), (220, 40, 40)
SPRITES = (
    square(CELL, GROUND, GROUND),
    square(CELL, BODY, GROUND, 1),
    square(CELL, HEAD, GROUND, 1),
    disc(CELL, FRUIT, GROUND),
)


@functools.cache
def _rules(side: int) -> Rules:
    return unchecked(lambda: Rules(side, side))


@dataclasses.dataclass(frozen=True)
class Snake(ArrowGame):
    """Reward: 1 / `fruits` for each fruit; as many are a success, and the end."""

    fruits: int = 2

    instruction: str = dataclasses.field(default="fruit", init=False)

    def reset(self, key: jax.Array) -> Any:
        return _rules(self.side).reset(key)[0]

    def step(self, state: Any, act: DeviceCall) -> tuple[Any, jax.Array, jax.Array]:
        stepped, timestep = _rules(self.side).step(state, jnp.maximum(act.choice, 0))
        after = moved(stepped, state, act)
        died = timestep.last() & (act.choice != NOTHING)
        reward = (after.length - state.length) / self.fruits
        return after, reward.astype(jnp.float32), died | self.succeeded(after)

    def draw(self, state: Any) -> jax.Array:
        head, fruit = state.head_position, state.fruit_position
        kinds = state.body.astype(jnp.int32).at[fruit.row, fruit.col].set(3).at[head.row, head.col].set(2)
        return paint(kinds, SPRITES)

    def succeeded(self, state: Any) -> jax.Array:
        return state.length > self.fruits

    def known(self, state: Any) -> jax.Array:
        head, fruit = state.head_position, state.fruit_position
        return jnp.abs(head.row - fruit.row) + jnp.abs(head.col - fruit.col)

    def expert(self, state: Any, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """Expert: thinks of the head's and the fruit's place, and moves toward the fruit without ending the game."""
        tie_key, skill_key, any_key = jax.random.split(key, 3)
        head, fruit = jnp.stack(state.head_position), jnp.stack(state.fruit_position)
        toward = jnp.abs(head + MOVES - fruit).sum(-1) < jnp.abs(head - fruit).sum()
        best = state.action_mask & toward
        best = any_of(tie_key, jnp.where(best.any(), best, state.action_mask))
        chosen = move_of(best, state.action_mask, skill, skill_key, any_key)
        numbers = len(DIRECTIONS) + jnp.stack([head[1], head[0], fruit[1], fruit[0]])
        words = [*numbers[:2], len(self.words) - 2, *numbers[2:], len(self.words) - 1, chosen]
        return plan(words, chosen)
