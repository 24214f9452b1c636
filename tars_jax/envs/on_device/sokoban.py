"""Sokoban: push the boxes onto the targets. The rules are jumanji's, the levels our own.

Axes: R rows and C columns of jumanji's board, 10 each.

jumanji's levels come from a network, and its board is 10 x 10 with four boxes. Ours are made here, by playing
backwards: boxes begin on their targets, and the player pulls them away. So every level can be solved. The room is
`side` cells a side in the upper left corner of the board; the boxes that a level does without stand on targets outside
of it, behind walls that are not drawn.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jumanji.environments.routing.sokoban.constants import AGENT, BOX, EMPTY, GRID_SIZE, N_BOXES, TARGET, WALL
from jumanji.environments.routing.sokoban.env import Sokoban as Rules
from jumanji.environments.routing.sokoban.generator import ToyGenerator
from jumanji.environments.routing.sokoban.types import State as Level

from tars_jax.envs.on_device.arrows import CELL, ArrowGame, move_of, plan, unchecked
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import DIRECTIONS, FAR, MOVES, any_of, disc, distances, paint, square

FLOOR, STONE, PLACE, CRATE, HOME, PLAYER = (
    (235, 230, 215),
    (70, 70, 80),
    (240, 170, 170),
    (160, 100, 40),
    (60, 150, 60),
    (40, 80, 200),
)
# Floor, wall, target, player, box, player on a target, box on a target: jumanji's numbers of a combined grid.
SPRITES = (
    square(CELL, FLOOR, FLOOR),
    square(CELL, STONE, STONE),
    square(CELL, PLACE, FLOOR, 3),
    disc(CELL, PLAYER, FLOOR),
    square(CELL, CRATE, FLOOR, 1),
    disc(CELL, PLAYER, PLACE),
    square(CELL, HOME, FLOOR, 1),
)


@functools.cache
def _rules() -> Rules:
    return unchecked(lambda: Rules(generator=ToyGenerator()))


@dataclasses.dataclass(frozen=True)
class Sokoban(ArrowGame):
    """`boxes` boxes, each within `pulls` pulls of its target. Reward: 1 when all are on targets."""

    side: int = 4
    boxes: int = 1
    pulls: int = 3

    instruction: str = dataclasses.field(default="boxes on targets", init=False)

    def outside(self) -> tuple[np.ndarray, np.ndarray]:
        """The board without what is in the room: what is fixed, and what moves."""
        fixed, moving = (
            np.full((GRID_SIZE, GRID_SIZE), WALL, np.uint8),
            np.full((GRID_SIZE, GRID_SIZE), EMPTY, np.uint8),
        )
        fixed[: self.side, : self.side] = EMPTY
        spare = np.arange(N_BOXES - self.boxes)
        fixed[GRID_SIZE - 1, spare], moving[GRID_SIZE - 1, spare] = TARGET, BOX
        return fixed, moving

    def reset(self, key: jax.Array) -> Level:
        places_key, pull_key = jax.random.split(key)
        fixed, moving = (jnp.asarray(each) for each in self.outside())
        places = jax.random.permutation(places_key, self.side**2)[: self.boxes + 1]
        rows, columns = jnp.divmod(places, self.side)
        fixed = fixed.at[rows[1:], columns[1:]].set(TARGET)
        moving = moving.at[rows[1:], columns[1:]].set(BOX)

        def pull(carry: tuple[jax.Array, jax.Array], key: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
            """A box somewhere gets pulled by a player who stands beside it with room behind."""
            moving, at = carry
            box = jnp.stack(jnp.divmod(jnp.arange(self.side**2), self.side), -1)[:, None]  # [cells, 1, 2]
            beside, behind = box + MOVES, box + 2 * MOVES
            room = ((behind >= 0) & (behind < self.side)).all(-1)
            beside, behind = jnp.clip(beside, 0, self.side - 1), jnp.clip(behind, 0, self.side - 1)

            def free(cell: jax.Array) -> jax.Array:
                return moving[cell[..., 0], cell[..., 1]] != BOX

            # Never onto a target: a box that has left stays away.
            possible = ~free(box) & room & free(beside) & free(behind)
            possible &= fixed[beside[..., 0], beside[..., 1]] != TARGET
            chosen = any_of(key, possible.ravel())
            cell, direction = jnp.divmod(chosen, 4)
            pulled = moving.at[box[cell, 0, 0], box[cell, 0, 1]].set(EMPTY)
            pulled = pulled.at[beside[cell, direction, 0], beside[cell, direction, 1]].set(BOX)
            some = possible.any()
            return (jnp.where(some, pulled, moving), jnp.where(some, behind[cell, direction], at)), None

        start = jnp.stack([rows[0], columns[0]])
        (moving, at), _ = jax.lax.scan(pull, (moving, start), jax.random.split(pull_key, self.pulls))
        moving = moving.at[at[0], at[1]].set(AGENT)
        return Level(
            key=key,
            fixed_grid=fixed,
            variable_grid=moving,
            agent_location=at.astype(jnp.int32),
            step_count=jnp.int32(0),
        )

    def step(self, state: Level, act: DeviceCall) -> tuple[Level, jax.Array, jax.Array]:
        after, _ = _rules().step(state, jnp.maximum(act.choice, 0))
        pressed = act.choice != NOTHING
        after = after.replace(
            key=state.key,
            variable_grid=jnp.where(pressed, after.variable_grid, state.variable_grid),
            agent_location=jnp.where(pressed, after.agent_location, state.agent_location),
        )
        solved = self.succeeded(after)
        return after, solved.astype(jnp.float32), solved

    def draw(self, state: Level) -> jax.Array:
        kinds = _rules().grid_combine(state.variable_grid, state.fixed_grid)
        return paint(kinds[: self.side, : self.side].astype(jnp.int32), SPRITES)

    def succeeded(self, state: Level) -> jax.Array:
        return ((state.variable_grid == BOX) & (state.fixed_grid == TARGET)).sum() == N_BOXES

    def known(self, state: Level) -> jax.Array:
        """Boxes that are not at home, and how far one is from its target where there is but one."""
        away = (state.variable_grid == BOX) & (state.fixed_grid != TARGET)
        box, place = self._nearest(state)
        return jnp.where(away.any(), 8 * (away.sum() - 1) + jnp.abs(box - place).sum(), 0).astype(jnp.int32)

    def _nearest(self, state: Level) -> tuple[jax.Array, jax.Array]:
        """A box that is not at home and a target without a box, [2] each."""
        away = (state.variable_grid == BOX) & (state.fixed_grid != TARGET)
        empty = (state.fixed_grid == TARGET) & (state.variable_grid != BOX)
        find = [jnp.stack(jnp.divmod(jnp.argmax(each.ravel()), GRID_SIZE)) for each in (away, empty)]
        return find[0], find[1]

    def expert(self, state: Level, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """Expert: thinks of the place of player, box and target; steps to where the box can be pushed from, or
        pushes."""
        tie_key, skill_key, any_key = jax.random.split(key, 3)
        at, (box, place) = state.agent_location, self._nearest(state)
        boxes = (state.variable_grid == BOX)[: self.side, : self.side]
        free = ~boxes
        # The box's own ways to the target, as if nobody had to stand behind it.
        box_free = free.at[box[0], box[1]].set(True)
        left = distances(box_free, place)
        onward, stand = box + MOVES, box - MOVES

        def inside(cells: jax.Array) -> jax.Array:
            return ((cells >= 0) & (cells < self.side)).all(-1)

        def read(board: jax.Array, cells: jax.Array, outside: int | bool) -> jax.Array:
            here = jnp.clip(cells, 0, self.side - 1)
            return jnp.where(inside(cells), board[here[..., 0], here[..., 1]], outside)

        pushes = read(left, onward, FAR) < left[box[0], box[1]]
        pushes &= read(free, stand, False)
        walk = jax.vmap(lambda goal: distances(free, jnp.clip(goal, 0, self.side - 1)))(stand)
        reach = jnp.where(pushes, walk[:, at[0], at[1]], FAR)
        push = any_of(tie_key, reach == reach.min())
        steps = read(walk[push], at + MOVES, FAR)
        best = jnp.where(reach[push] == 0, push, any_of(tie_key, steps == steps.min()))
        legal = inside(at + MOVES)
        chosen = move_of(best, legal, skill, skill_key, any_key)
        number = len(DIRECTIONS)
        to, comma = len(self.words) - 2, len(self.words) - 1
        words = [number + at[1], number + at[0], comma, number + box[1], number + box[0], to]
        words += [number + place[1], number + place[0], comma, chosen]
        return plan(words, chosen)
