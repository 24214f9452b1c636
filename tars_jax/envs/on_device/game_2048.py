"""2048: slide the tiles with the arrow keys; equal ones merge. The rules are jumanji's.

Axes: R rows and C columns of the board, four each; K kinds of tiles.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jumanji.environments.logic.game_2048.env import Game2048 as Rules
from jumanji.environments.logic.game_2048.utils import move

from tars_jax.agent.actions import Action
from tars_jax.environment import ActionSpace
from tars_jax.envs.on_device.arrows import CELL, move_of, moved, plan, unchecked
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import ARROWS, DIRECTIONS, any_of, paint, square

SIDE, BOARD = 4, (187, 173, 160)
# Colors far apart, darker as tiles grow; beyond 2048 they all look alike.
COLOURS = (
    (238, 228, 218),
    (250, 210, 60),
    (250, 150, 30),
    (230, 70, 40),
    (200, 30, 120),
    (130, 40, 190),
    (50, 60, 220),
    (30, 140, 220),
    (20, 170, 140),
    (30, 130, 40),
    (20, 20, 20),
)
SPRITES = (square(CELL, BOARD, BOARD), *(square(CELL, color, BOARD, 1) for color in COLOURS))


@functools.cache
def _rules() -> Rules:
    return unchecked(Rules)


@dataclasses.dataclass(frozen=True)
class Game2048:
    """Boards begin after `opening` random moves. Reward: what a move merges, in units of `unit` points."""

    opening: int = 20
    unit: float = 100.0
    target: int = 100  # points that count as success

    instruction: str = dataclasses.field(default="merge", init=False)
    size: tuple[int, int] = dataclasses.field(default=(SIDE * CELL, SIDE * CELL), init=False)
    space: ActionSpace = dataclasses.field(default=ActionSpace(actions=("hotkey",)), init=False)
    choices: tuple[Action, ...] = dataclasses.field(default=ARROWS, init=False)
    calls: tuple[Action, ...] = dataclasses.field(default=ARROWS, init=False)
    most_calls: int = dataclasses.field(default=1, init=False)
    words: tuple[str, ...] = dataclasses.field(default=(*(f" {word}" for word in DIRECTIONS), ",", " no"), init=False)

    def reset(self, key: jax.Array) -> Any:
        board_key, moves_key = jax.random.split(key)
        rules = _rules()
        state, _ = rules.reset(board_key)

        def random_move(state: Any, key: jax.Array) -> tuple[Any, None]:
            after, timestep = rules.step(state, any_of(key, state.action_mask))
            # A board without a move is not where an episode can begin.
            return jax.tree.map(lambda new, old: jnp.where(timestep.last(), old, new), after, state), None

        state, _ = jax.lax.scan(random_move, state, jax.random.split(moves_key, self.opening))
        return state.replace(score=jnp.zeros_like(state.score), step_count=jnp.zeros_like(state.step_count))

    def step(self, state: Any, act: DeviceCall) -> tuple[Any, jax.Array, jax.Array]:
        after = moved(_rules().step(state, jnp.maximum(act.choice, 0))[0], state, act)
        return after, ((after.score - state.score) / self.unit).astype(jnp.float32), ~after.action_mask.any()

    def draw(self, state: Any) -> jax.Array:
        return paint(jnp.minimum(state.board, len(COLOURS)), SPRITES)

    def succeeded(self, state: Any) -> jax.Array:
        return state.score >= self.target

    def known(self, state: Any) -> jax.Array:
        return (state.board == 0).sum().astype(jnp.int32)

    def expert(self, state: Any, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """The moves that merge something, and the one that merges most."""
        tie_key, skill_key, any_key = jax.random.split(key, 3)
        merged = jnp.stack([move(state.board, np.int32(direction))[1] for direction in range(4)])
        merged = jnp.where(state.action_mask, merged, -1.0)
        best = any_of(tie_key, merged == merged.max())
        chosen = move_of(best, state.action_mask, skill, skill_key, any_key)
        merging = jnp.where(merged > 0, jnp.arange(4), NOTHING)
        none = jnp.where((merged > 0).any(), NOTHING, len(self.words) - 1)
        words = [none, *merging, len(self.words) - 2, chosen]
        return plan(words, chosen)
