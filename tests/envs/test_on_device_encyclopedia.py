"""The encyclopedia on the device: one question, by clicks, by searches or by both; what is drawn; who solves it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Click
from tars_jax.agent.calls import call_of
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.encyclopedia import BUTTON, EncyclopediaGame, EncyclopediaState
from tars_jax.envs.on_device.game import DeviceCall

LEVEL = jax.random.key(3)
STEPS = 6


def act_of(game: EncyclopediaGame, call: Any) -> DeviceCall:
    """The act that the parser would make of the game's call of this number."""
    names = [*game.space.actions, *(function.name for function in game.space.functions)]
    points = [(each.point.x, each.point.y) if isinstance(each, Click) else (-1, -1) for each in game.calls]
    functions = [names.index(call_of(each)[0]) for each in game.calls]
    choices = [number if number < len(game.choices) else -1 for number in range(len(game.calls))]
    tables = (functions, points, choices)
    return DeviceCall(*(jnp.asarray(table, jnp.int32)[call] for table in tables))


def click(game: EncyclopediaGame, state: EncyclopediaState, row: int, column: int) -> EncyclopediaState:
    return game.step(state, act_of(game, len(game.choices) + 6 * row + column))[0]


def play(game: EncyclopediaGame, skill: float, count: int, at_random: bool = False) -> tuple[float, float]:
    """Success and steps of the expert, or of a player of any calls."""

    def episode(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            state, alive, steps = carry
            drawn = jax.random.randint(key, (), 0, len(game.calls))
            call = drawn if at_random else game.expert(state, key, jnp.float32(skill)).calls[0]
            after, _, done = game.step(state, act_of(game, call))
            kept = jax.tree.map(lambda new, old: jnp.where(alive, new, old), after, state)
            return (kept, alive & ~done, steps + alive), None

        start = (game.reset(key), jnp.bool_(True), jnp.int32(0))
        (last, _, steps), _ = jax.lax.scan(step, start, jax.random.split(jax.random.fold_in(key, 1), STEPS))
        return game.succeeded(last), steps

    success, steps = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), count))
    return float(success.mean()), float(steps.mean())


@pytest.fixture(params=["gui", "sdk", "both"])
def game(request: pytest.FixtureRequest) -> EncyclopediaGame:
    return make_game("encyclopedia", {"interface": request.param})  # type: ignore[return-value]


def test_the_expert_solves_every_level_and_chance_guesses(game: EncyclopediaGame) -> None:
    """Of 25 names one is right; both kinds of demonstrations solve about as much with the same mistakes."""
    success, steps = play(game, 1.0, 256)
    assert success == 1 and 3 <= steps <= 5
    assert 0.1 < play(game, 0.5, 256)[0] < 0.4
    assert play(game, 0, 1024, at_random=True)[0] < 0.06


def test_two_facts_by_clicks() -> None:
    game: Any = make_game("encyclopedia", {"interface": "gui"})
    state = game.reset(LEVEL)
    entity, first, second = map(int, state.asked)
    links = np.asarray(state.links)
    assert (links != np.arange(25)[:, None]).all()
    for page in range(3):  # the index has 25 tiles on three pages, and begins again
        shown = np.asarray(game.draw(state))
        assert int(state.turned) == page and int(state.opened) == -1
        if entity // 9 == page:
            place = divmod(entity % 9, 3)
            opened = click(game, state, 2 + place[0], place[1])
        state = click(game, state, *BUTTON)
    assert int(state.turned) == 0
    assert (np.asarray(game.draw(opened)) != shown).any()
    assert int(opened.opened) == entity == int(opened.alike[entity, 0])
    following = links[entity, first]
    linked = click(game, opened, 2, 1 + first)
    assert (int(linked.opened), int(linked.before)) == (following, entity)
    answer = links[following, second]
    right, reward, done = game.step(linked, act_of(game, int(answer)))
    assert (float(reward), bool(done), bool(game.succeeded(right))) == (1, True, True)
    wrong, reward, done = game.step(linked, act_of(game, (int(answer) + 1) % 25))
    assert (float(reward), bool(done), bool(game.succeeded(wrong))) == (0, True, False)
    back = click(game, linked, *BUTTON)
    assert (int(back.opened), int(back.before)) == (-1, -1)
    for row, column in ((0, 0), (1, 0), (5, 5)):  # the question, the heading and an empty cell are no links
        jax.tree.map(np.testing.assert_array_equal, click(game, linked, row, column), linked)


def test_a_search_shows_a_page_and_its_like() -> None:
    game: Any = make_game("encyclopedia", {"interface": "sdk"})
    beside = set()
    for seed in range(40):
        state = game.reset(jax.random.key(seed))
        found, reward, done = game.step(state, act_of(game, 25 + 7))
        cards = list(map(int, found.alike[found.opened]))
        assert cards[0] == 7 and len(set(cards)) == 3 and (float(reward), bool(done)) == (0, False)
        assert all((card // 5 == 1) != (card % 5 == 2) for card in cards[1:])  # one color in its place
        beside.add(tuple(cards[1:]))
        unknown = DeviceCall(jnp.int32(1), jnp.full(2, -1), jnp.int32(-1))  # Search(query='x')
        jax.tree.map(np.testing.assert_array_equal, game.step(state, unknown)[0], state)
    assert len(beside) > 10


def test_an_interface_has_its_calls_alone() -> None:
    spaces = {name: make_game("encyclopedia", {"interface": name}).space for name in ("gui", "sdk", "both")}
    called = {name: (space.actions, [each.name for each in space.functions]) for name, space in spaces.items()}
    assert called == {
        "gui": (("click", "finished"), []),
        "sdk": (("finished",), ["Search"]),
        "both": (("click", "finished"), ["Search"]),
    }
    with pytest.raises(InputError, match="interface must be one of gui, sdk, both; got 'api'"):
        make_game("encyclopedia", {"interface": "api"})
    with pytest.raises(InputError, match="colors must be 3 to 5; got 9"):
        make_game("encyclopedia", {"colors": 9})
