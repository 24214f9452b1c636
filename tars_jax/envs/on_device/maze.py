"""Maze: walk to the exit with the arrow keys. The rules and the walls are jumanji's.

Axes: R rows and C columns of the board, both `side`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jumanji.environments.routing.maze.env import Maze as Rules
from jumanji.environments.routing.maze.generator import RandomGenerator
from jumanji.environments.routing.maze.types import Position

from tars_jax.envs.on_device.arrows import CELL, ArrowGame, move_of, moved, plan, unchecked
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import DIRECTIONS, FAR, MOVES, any_of, disc, distances, paint, square

FLOOR, WALL, PLAYER, EXIT = (236, 240, 245), (40, 44, 60), (230, 60, 50), (40, 160, 70)
SPRITES = (
    square(CELL, FLOOR, FLOOR),
    square(CELL, WALL, WALL),
    disc(CELL, PLAYER, FLOOR),
    square(CELL, EXIT, FLOOR, 2),
)


@functools.cache
def _rules(side: int) -> Rules:
    return unchecked(lambda: Rules(RandomGenerator(side, side), time_limit=FAR))


@dataclasses.dataclass(frozen=True)
class Maze(ArrowGame):
    """The exit is `nearest` to `farthest` moves away. Reward 1 at the exit."""

    nearest: int = 2
    farthest: int = 5

    instruction: str = dataclasses.field(default="exit", init=False)

    def reset(self, key: jax.Array) -> Any:
        walls_key, distance_key, start_key = jax.random.split(key, 3)
        rules = _rules(self.side)
        state, _ = rules.reset(walls_key)
        target = jnp.stack(state.target_position)
        found = distances(~state.walls, target)
        wanted = jax.random.randint(distance_key, (), self.nearest, self.farthest + 1)
        # The nearest to the wanted distance that this maze has, never the exit itself.
        miss = jnp.where((found < FAR) & (found > 0), jnp.abs(found - wanted), FAR)
        row, column = jnp.divmod(any_of(start_key, (miss == miss.min()).ravel()), self.side)
        start = Position(row=row, col=column)
        mask = rules._compute_action_mask(state.walls, start)
        return state.replace(agent_position=start, action_mask=mask)

    def step(self, state: Any, act: DeviceCall) -> tuple[Any, jax.Array, jax.Array]:
        after = moved(_rules(self.side).step(state, jnp.maximum(act.choice, 0))[0], state, act)
        reached = self.succeeded(after)
        return after, reached.astype(jnp.float32), reached

    def draw(self, state: Any) -> jax.Array:
        player, target = state.agent_position, state.target_position
        kinds = state.walls.astype(jnp.int32).at[target.row, target.col].set(3).at[player.row, player.col].set(2)
        return paint(kinds, SPRITES)

    def succeeded(self, state: Any) -> jax.Array:
        return state.agent_position == state.target_position

    def known(self, state: Any) -> jax.Array:
        return jnp.minimum(self._distance(state), 31)

    def _distance(self, state: Any) -> jax.Array:
        found = distances(~state.walls, jnp.stack(state.target_position))
        return found[state.agent_position.row, state.agent_position.col]

    def expert(self, state: Any, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """Expert: thinks of the player's and the exit's place and the shortest way (its first moves), and makes the
        move."""
        found = distances(~state.walls, jnp.stack(state.target_position))
        way_key, skill_key, any_key = jax.random.split(key, 3)
        here = jnp.stack(state.agent_position)

        def onward(at: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
            around = at + MOVES
            inside = ((around >= 0) & (around < self.side)).all(-1)
            after = jnp.where(inside, found[tuple(jnp.clip(around, 0, self.side - 1).T)], FAR)
            left = found[at[0], at[1]]
            turn = any_of(key, after < left)
            arrived = left == 0
            return jnp.where(arrived, at, around[turn]), jnp.where(arrived, NOTHING, turn)

        _, way = jax.lax.scan(onward, here, jax.random.split(way_key, self.farthest))
        move = move_of(way[0], state.action_mask, skill, skill_key, any_key)
        numbers = len(DIRECTIONS) + jnp.stack([here[1], here[0], state.target_position.col, state.target_position.row])
        to, comma = len(self.words) - 2, len(self.words) - 1
        words = [*numbers[:2], to, *numbers[2:], comma, *way, comma, move]
        return plan(words, move)
