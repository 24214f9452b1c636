"""Encyclopedia: a question of two facts, answered by clicking through pages, by searching, or by both.

Axes: N entities, R relations, C columns and rows of the screen (6 x 6), K cards.

Every entity has a page: a card with the entity it leads to by each relation. "A, r1, r2" asks for the entity that r2
leads to from where r1 leads from A. All entities are flags of two colors, named by the digits of these, left and right.

Row 0 of the screen shows the question, row 1 the page that was opened and the one before it, rows 2 to 4 cards or an
sorted index of pages. A page shows the card of its entity, and under it those of two that look like it. `gui`: the
index is turned by its button, tiles and links are clicked. `sdk`: Search opens the page of the entity that it names.
Either way the answer is `finished`, an episode has the same steps, and the screen is all that is seen.
"""

from __future__ import annotations

import dataclasses
import functools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action, Finished, ToolCall
from tars_jax.environment import BOTH, GUI, SDK, ActionSpace
from tars_jax.envs.interfaces import check_interface
from tars_jax.envs.on_device.game import NOTHING, DeviceCall, ExpertPlan
from tars_jax.envs.on_device.grids import Color, any_of, cell_at, cell_clicks, paint, square
from tars_jax.sandbox.tools.forms import FUNCTIONS

INSTRUCTIONS = {GUI: "Click to find it", SDK: "Search to find it", BOTH: "Click or search to find it"}
SEARCH = FUNCTIONS["Search"]
SIDE, CELL, SHELF, CARDS, RELATIONS = 6, 16, 9, 3, 3
BUTTON = (1, 5)  # row and column: turns the index, and leads back to it from a page
PAPER: Color = (245, 245, 245)
COLORS: tuple[Color, ...] = ((214, 39, 40), (31, 119, 180), (44, 160, 44), (20, 20, 20), (255, 170, 20))
VIOLET: Color = (120, 60, 160)


def _flag(left: Color, right: Color) -> np.ndarray:
    """uint8 [S, S, 3]: two halves with a rim of paper, each as wide as a patch."""
    sprite = square(CELL, left, PAPER, 1)
    sprite[1:-1, CELL // 2 : -1] = right
    return sprite


def _relation(number: int) -> np.ndarray:
    """Stripes of a gray frame: they run across, down, or both ways."""
    sprite = square(CELL, (150, 150, 150), PAPER, 1)
    if number != 1:
        sprite[3:13:4, 2:14] = 255
    if number != 0:
        sprite[2:14, 3:13:4] = 255
    return sprite


def _arrow(up: bool) -> np.ndarray:
    """A triangle that points up, or to the left."""
    x, y = np.meshgrid(np.arange(CELL) - 7.5, np.arange(CELL) - 7.5)
    inside = (abs(x) < (y + 7) / 2) & (y < 6)
    sprite = np.where(inside[..., None], np.array(VIOLET, np.uint8), np.array(PAPER, np.uint8))
    return sprite if up else sprite.swapaxes(0, 1)


@flax.struct.dataclass
class EncyclopediaState:
    """The encyclopedia's entries, the question, and the screen."""

    links: jax.Array  # [N, R] int32: where each relation leads
    asked: jax.Array  # [3] int32: an entity and two relations
    alike: jax.Array  # [N, K] int32: the cards that a page shows, its own first
    turned: jax.Array  # [] int32: page of the index
    opened: jax.Array  # [] int32: the entity whose page was opened or searched for; NOTHING: the index is there
    before: jax.Array  # [] int32: the one before
    answer: jax.Array  # [] int32: NOTHING until one is given, and for one that names no entity


@dataclasses.dataclass(frozen=True)
class EncyclopediaGame:
    """`both` is shown by clicks on half of the levels, by searches on the others. A wrong answer ends the episode."""

    interface: str = GUI
    colors: int = 5

    most_calls: int = dataclasses.field(default=1, init=False)

    def __post_init__(self) -> None:
        check_interface(self.interface)
        if not 3 <= self.colors <= len(COLORS):
            raise InputError(f"colors must be 3 to {len(COLORS)}; got {self.colors!r}")

    @property
    def entities(self) -> int:
        return self.colors**2

    @property
    def instruction(self) -> str:
        return INSTRUCTIONS[self.interface]

    @property
    def size(self) -> tuple[int, int]:
        return SIDE * CELL, SIDE * CELL

    @property
    def space(self) -> ActionSpace:
        actions = ("finished",) if self.interface == SDK else ("click", "finished")
        return ActionSpace(actions=actions, functions=() if self.interface == GUI else (SEARCH,))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{left}{right}" for left in range(self.colors) for right in range(self.colors))

    @property
    def choices(self) -> tuple[Action, ...]:
        """All actions: answers, then searches."""
        searches = () if self.interface == GUI else tuple(ToolCall("Search", {"query": name}) for name in self.names)
        return (*map(Finished, self.names), *searches)

    @property
    def calls(self) -> tuple[Action, ...]:
        """The choices, then clicks."""
        return (*self.choices, *(() if self.interface == SDK else cell_clicks(SIDE)))

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(f" {digit}" for digit in range(max(self.colors, SIDE)))

    def reset(self, key: jax.Array) -> EncyclopediaState:
        count = self.entities
        offsets, first, relations, alike = jax.random.split(key, 4)
        links = (jnp.arange(count)[:, None] + jax.random.randint(offsets, (count, RELATIONS), 1, count)) % count
        asked = jnp.stack([jax.random.randint(first, (), 0, count), *jax.random.randint(relations, (2,), 0, RELATIONS)])
        left, right = jnp.divmod(jnp.arange(count), self.colors)
        near = (left[:, None] == left) ^ (right[:, None] == right)  # one color in the same place, not itself
        others = jax.random.uniform(alike, (count, count)) + near
        cards = jnp.concatenate([jnp.arange(count)[:, None], jax.lax.top_k(others, CARDS - 1)[1]], 1)
        nothing = jnp.int32(NOTHING)
        return EncyclopediaState(
            links=links.astype(jnp.int32),
            asked=asked.astype(jnp.int32),
            alike=cards.astype(jnp.int32),
            turned=jnp.int32(0),
            opened=nothing,
            before=nothing,
            answer=nothing,
        )

    def step(self, state: EncyclopediaState, act: DeviceCall) -> tuple[EncyclopediaState, jax.Array, jax.Array]:
        names = (*self.space.actions, SEARCH.name)
        answers = act.function == names.index("finished")
        searches = (act.function == names.index(SEARCH.name)) & (act.choice != NOTHING)
        after = self._opened(state, act.choice - self.entities, searches)
        if "click" in names:
            after = self._clicked(after, cell_at(act.point, SIDE), act.function == names.index("click"))
        after = dataclasses.replace(after, answer=jnp.where(answers, act.choice, NOTHING))
        return after, self.succeeded(after).astype(jnp.float32), answers

    def _clicked(self, state: EncyclopediaState, cell: jax.Array, clicks: jax.Array) -> EncyclopediaState:
        row, column = cell
        kind = self._board(state)[row, column]
        pressed = clicks & (row == BUTTON[0]) & (column == BUTTON[1])
        on_index = state.opened == NOTHING
        back = pressed & ~on_index
        state = dataclasses.replace(
            state,
            turned=jnp.where(pressed & on_index, (state.turned + 1) % self._index_pages, state.turned),
            opened=jnp.where(back, NOTHING, state.opened),
            before=jnp.where(back, NOTHING, state.before),
        )
        entity = kind - 1
        is_link = clicks & (row >= 2) & (entity >= 0) & (entity < self.entities)
        return self._opened(state, entity, is_link)

    def _opened(self, state: EncyclopediaState, entity: jax.Array, if_so: jax.Array) -> EncyclopediaState:
        return dataclasses.replace(
            state,
            opened=jnp.where(if_so, entity, state.opened),
            before=jnp.where(if_so, state.opened, state.before),
        )

    @property
    def _index_pages(self) -> int:
        return -(-self.entities // SHELF)

    @functools.cached_property
    def _sprites(self) -> np.ndarray:
        """Nothing, entities, relations, the button of the index and that of a page."""
        colors = COLORS[: self.colors]
        entities = [_flag(left, right) for left in colors for right in colors]
        relations = [_relation(number) for number in range(RELATIONS)]
        return np.stack([square(CELL, PAPER, PAPER), *entities, *relations, _arrow(False), _arrow(True)])

    def _board(self, state: EncyclopediaState) -> jax.Array:
        """int32 [C, C]: sprites."""
        relation, button = 1 + self.entities, 1 + self.entities + RELATIONS
        on_index = state.opened == NOTHING
        board = jnp.zeros((SIDE, SIDE), jnp.int32)
        board = board.at[0, :3].set(state.asked + jnp.array([1, relation, relation]))
        board = board.at[1, 0].set(1 + state.opened).at[1, 4].set(1 + state.before)
        board = board.at[1, 1:4].set(jnp.where(on_index, 0, relation + jnp.arange(RELATIONS)))
        shown = state.alike[state.opened]
        cards = jnp.concatenate([shown[:, None], state.links[shown]], 1)
        tiles = jnp.full((CARDS, 1 + RELATIONS), NOTHING, jnp.int32)
        if self.interface != SDK:
            board = board.at[BUTTON].set(jnp.where(on_index, button, button + 1))
            places = state.turned * SHELF + jnp.arange(SHELF)
            there = jnp.where(places < self.entities, places, NOTHING)
            tiles = tiles.at[:, :3].set(there.reshape(3, 3))
        return board.at[2:5, :4].set(1 + jnp.where(on_index, tiles, cards))

    def draw(self, state: EncyclopediaState) -> jax.Array:
        return paint(self._board(state), self._sprites)

    def truth(self, state: EncyclopediaState) -> jax.Array:
        """[] int32: the entity that is asked for."""
        entity, first, second = state.asked
        return state.links[state.links[entity, first], second]

    def succeeded(self, state: EncyclopediaState) -> jax.Array:
        return state.answer == self.truth(state)

    def known(self, state: EncyclopediaState) -> jax.Array:
        """Steps that the shortest way takes from here."""
        at_first, at_second = self._place(state)
        if self.interface == GUI:
            turns = (state.asked[0] // SHELF - state.turned) % self._index_pages
            start = jnp.where(state.opened == NOTHING, 3 + turns, 4 + turns)
        else:
            start = jnp.int32(3)
        return jnp.where(at_second, 1, jnp.where(at_first, 2, start))

    def _place(self, state: EncyclopediaState) -> tuple[jax.Array, jax.Array]:
        """Whether the page of the question's entity is there, and whether the next one is, by what the screen says."""
        at_first = state.opened == state.asked[0]
        return at_first, ~at_first & (state.before == state.asked[0]) & (state.opened != NOTHING)

    def expert(self, state: EncyclopediaState, key: jax.Array, skill: jax.Array) -> ExpertPlan:
        """Names the entity that it looks at or for, the cell of what it needs there, and where a link leads."""
        skill_key, any_key, answer_key = jax.random.split(key, 3)
        entity, first, second = state.asked
        at_first, at_second = self._place(state)
        reads = at_first | at_second
        relation = jnp.where(at_first, first, second)
        following = jnp.where(reads, state.links[state.opened, relation], entity)
        tiles = jnp.where(state.opened == NOTHING, self._board(state)[2:5], NOTHING) == 1 + entity
        tile = jnp.where(tiles.any(), 2 * SIDE + jnp.argmax(tiles), BUTTON[0] * SIDE + BUTTON[1])
        link = 2 * SIDE + 1 + relation
        cell = jnp.where(reads, link, tile)
        clicks, search = len(self.choices), self.entities + following
        # Of both interfaces something of the level decides that does not change.
        by_clicks = jnp.asarray({GUI: True, SDK: False, BOTH: state.links[0, 0] % 2 == 0}[self.interface])
        best = jnp.where(at_second, following, jnp.where(by_clicks, clicks + cell, search))
        # A mistake is any call: an answer one time in eight, so that most wrong ways go on.
        answers = jnp.arange(len(self.calls)) < self.entities
        too_early = jax.random.uniform(answer_key) < 1 / 8
        wrong = any_of(any_key, jnp.where(too_early, answers, ~answers & self._shown(state)))
        call = jnp.where(jax.random.uniform(skill_key) < skill, best, wrong)
        is_click = call >= clicks
        cell = jnp.where(is_click, call - clicks, cell)
        following = jnp.where(is_click, following, call % self.entities)
        words = [
            *jnp.divmod(jnp.where(reads, state.opened, entity), self.colors),
            *jnp.where(reads | by_clicks | is_click, jnp.stack(jnp.divmod(cell, SIDE)), NOTHING),
            *jnp.where(reads | ~is_click, jnp.stack(jnp.divmod(following, self.colors)), NOTHING),
        ]
        return ExpertPlan(jnp.stack(words).astype(jnp.int32), call.astype(jnp.int32)[None])

    def _shown(self, state: EncyclopediaState) -> jax.Array:
        """bool [calls]: a click on something, and all that is no click."""
        everything = jnp.ones(len(self.choices), bool)
        if self.interface == SDK:
            return everything
        board = self._board(state)
        return jnp.concatenate([everything, ((board > 0) & (jnp.arange(SIDE)[:, None] > 0)).ravel()])
