"""Checklist: a page with boxes; tick all of them, then submit.

Axes: R rows and C columns of the page, both `side`; M boxes at most.
"""

from __future__ import annotations

import dataclasses

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.agent.actions import Action
from tars_jax.environment import ActionSpace
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import any_of, cell_at, cell_clicks, disc, paint, square

EMPTY, OPEN, TICKED, SUBMIT, CELL = 0, 1, 2, 3, 16
PAGE, FRAME, TICK, BUTTON = (245, 245, 245), (60, 60, 60), (40, 100, 220), (40, 160, 70)
_BOX = square(CELL, PAGE, FRAME, 4)
SPRITES = (square(CELL, PAGE, PAGE), _BOX, square(CELL, TICK, FRAME, 2), disc(CELL, BUTTON, PAGE))


@flax.struct.dataclass
class ChecklistPage:
    """State of the checklist's page."""

    cells: jax.Array  # [R, C] int32: EMPTY, OPEN, TICKED or SUBMIT
    submitted: jax.Array  # [] bool: the button was clicked, with every box ticked


@dataclasses.dataclass(frozen=True)
class Checklist:
    """One to `most` boxes are open at first, up to `ticked` others are ticked. A wrong submit ends the episode."""

    side: int = 4
    most: int = 3
    ticked: int = 2
    long_thoughts: float = 0.5  # share of the expert's thoughts that name all the open boxes, not the next alone
    most_calls: int = 1
    several: float = 0.1  # share of the expert's turns with `most_calls` clicks, where it may be more than one

    instruction: str = dataclasses.field(default="Click all", init=False)
    space: ActionSpace = dataclasses.field(default=ActionSpace(actions=("click",)), init=False)
    choices: tuple[Action, ...] = dataclasses.field(default=(), init=False)

    @property
    def size(self) -> tuple[int, int]:
        return self.side * CELL, self.side * CELL

    @property
    def calls(self) -> tuple[Action, ...]:
        return cell_clicks(self.side)

    @property
    def words(self) -> tuple[str, ...]:
        return (*(f" {place}" for place in range(self.side)), ",", " to")

    def reset(self, key: jax.Array) -> ChecklistPage:
        open_key, ticked_key, places_key = jax.random.split(key, 3)
        num_open = jax.random.randint(open_key, (), 1, self.most + 1)
        num_ticked = jax.random.randint(ticked_key, (), 0, self.ticked + 1)
        rank = jax.random.permutation(places_key, self.side**2)
        boxes = jnp.where(rank < num_open, OPEN, jnp.where(rank < num_open + num_ticked, TICKED, EMPTY))
        cells = jnp.where(rank == self.side**2 - 1, SUBMIT, boxes).astype(jnp.int32)
        return ChecklistPage(cells.reshape(self.side, self.side), jnp.bool_(False))

    def step(self, state: ChecklistPage, act: DeviceCall) -> tuple[ChecklistPage, jax.Array, jax.Array]:
        row, column = cell_at(act.point, self.side)
        clicked = act.function == 0
        kind = jnp.where(clicked, state.cells[row, column], EMPTY)
        turned = jnp.where(kind == OPEN, TICKED, jnp.where(kind == TICKED, OPEN, state.cells[row, column]))
        done = kind == SUBMIT
        solved = done & ~(state.cells == OPEN).any()
        return ChecklistPage(state.cells.at[row, column].set(turned), solved), solved.astype(jnp.float32), done

    def draw(self, state: ChecklistPage) -> jax.Array:
        return paint(state.cells, SPRITES)

    def succeeded(self, state: ChecklistPage) -> jax.Array:
        return state.submitted

    def known(self, state: ChecklistPage) -> jax.Array:
        return jnp.minimum((state.cells == OPEN).sum(), 31)

    def expert(self, state: ChecklistPage, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """The open boxes in reading order, all or only the next; then the cell that is clicked first. Further clicks
        are the next of its plan."""
        long_key, skill_key, any_key, several_key = jax.random.split(key, 4)
        cells = state.cells.ravel()
        is_open = cells == OPEN
        best = jnp.where(is_open.any(), jnp.argmax(is_open), jnp.argmax(cells == SUBMIT))
        # Any cell: what lies there may be nothing, a box that is ticked already, or the button too early.
        chosen = jnp.where(jax.random.uniform(skill_key) < skill, best, any_of(any_key, cells >= 0))
        order = jnp.argsort(~is_open, stable=True)[: self.most]
        listed = is_open[order] & (jax.random.uniform(long_key) < self.long_thoughts)
        comma, to = len(self.words) - 2, len(self.words) - 1

        def named(cell: jax.Array, said: jax.Array, after: int) -> list[jax.Array]:
            row, column = jnp.divmod(cell, self.side)
            return [jnp.where(said, word, NOTHING) for word in (column, row, jnp.int32(after))]

        words = [word for cell, said in zip(order, listed, strict=True) for word in named(cell, said, comma)]
        words += [jnp.where(listed.any(), to, NOTHING), *named(chosen, jnp.bool_(True), NOTHING)[:2]]
        along = jnp.argsort(jnp.where(is_open, 0, jnp.where(cells == SUBMIT, 1, 2)), stable=True)[1 : self.most_calls]
        further = (jax.random.uniform(several_key) < self.several) & (jnp.arange(1, self.most_calls) <= is_open.sum())
        calls = jnp.concatenate([chosen[None], jnp.where(further, along, NOTHING)])
        return ExpertPlan(jnp.stack(words).astype(jnp.int32), calls.astype(jnp.int32))
