"""The games on the device: rules on states made by hand, what is drawn, and experts that solve their levels."""

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jumanji.environments.routing.sokoban.types import State as Level

from tars_jax import InputError
from tars_jax.envs.on_device.catalog import GAMES, make_game
from tars_jax.envs.on_device.checklist import EMPTY, OPEN, SPRITES, SUBMIT, TICKED, Checklist, ChecklistPage
from tars_jax.envs.on_device.game import DeviceCall
from tars_jax.envs.on_device.game_2048 import Game2048
from tars_jax.envs.on_device.grids import FAR, cell_at, cell_clicks, distances
from tars_jax.envs.on_device.maze import FLOOR, PLAYER, WALL, Maze
from tars_jax.envs.on_device.sokoban import Sokoban

UP, RIGHT, DOWN, LEFT = range(4)


def press(direction: int) -> DeviceCall:
    return DeviceCall(jnp.int32(0), jnp.full(2, -1), jnp.int32(direction))


def click(x: int, y: int) -> DeviceCall:
    return DeviceCall(jnp.int32(0), jnp.array([x, y]), jnp.int32(-1))


def cell(pixels: jax.Array, row: int, column: int, side: int = 16) -> np.ndarray:
    return np.asarray(pixels)[row * side : (row + 1) * side, column * side : (column + 1) * side]


def test_distances_by_hand() -> None:
    free = jnp.array([[1, 0, 1], [1, 0, 1], [1, 1, 0]], bool)
    found = distances(free, jnp.array([2, 1]))
    np.testing.assert_array_equal(found, [[3, FAR, FAR], [2, FAR, FAR], [1, 0, FAR]])


def test_a_click_on_a_cells_centre_is_that_cell() -> None:
    points = [(call.point.x, call.point.y) for call in cell_clicks(6)]
    found = [tuple(map(int, cell_at(jnp.array(point, jnp.int32), 6))) for point in points]
    assert found == [(row, column) for row in range(6) for column in range(6)]
    assert tuple(map(int, cell_at(jnp.array([1000, 0]), 6))) == (0, 5)


PAGE = jnp.array([[OPEN, TICKED], [EMPTY, SUBMIT]])


def checklist(cells: Any, *acts: DeviceCall) -> tuple[ChecklistPage, float, bool]:
    game, state, reward, done = Checklist(side=2), ChecklistPage(jnp.asarray(cells), jnp.bool_(False)), 0.0, False
    for act in acts:
        state, gained, over = game.step(state, act)
        reward, done = reward + float(gained), bool(over)
    return state, reward, done


def test_checklist_ticks_and_submits() -> None:
    state, reward, done = checklist(PAGE, click(250, 250))
    np.testing.assert_array_equal(state.cells, [[TICKED, TICKED], [EMPTY, SUBMIT]])
    assert (reward, done) == (0, False)
    assert checklist(PAGE, click(250, 250), click(750, 750))[1:] == (1, True)


def test_a_wrong_submit_ends_without_reward_and_a_ticked_box_opens_again() -> None:
    assert checklist(PAGE, click(750, 750))[1:] == (0, True)
    state, *_ = checklist(PAGE, click(750, 250))
    assert int(state.cells[0, 1]) == OPEN
    assert checklist(PAGE, click(750, 250), click(250, 250), click(750, 750))[1:] == (0, True)


def test_nothing_and_empty_places_change_nothing() -> None:
    for act in (DeviceCall.nothing(), click(250, 750)):
        state, reward, done = checklist(PAGE, act)
        np.testing.assert_array_equal(state.cells, PAGE)
        assert (reward, done) == (0, False)


def test_checklist_is_drawn_as_it_is() -> None:
    drawn = Checklist(side=2).draw(ChecklistPage(PAGE, jnp.bool_(False)))
    for row, column in np.ndindex(2, 2):
        np.testing.assert_array_equal(cell(drawn, row, column), SPRITES[int(PAGE[row, column])])


@pytest.fixture(scope="module")
def maze() -> tuple[Maze, Any]:
    game = Maze(side=4)
    state = game.reset(jax.random.key(0))
    walls = jnp.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 1, 0]], bool)
    at = type(state.agent_position)
    placed = state.replace(
        walls=walls,
        agent_position=at(row=jnp.int32(2), col=jnp.int32(0)),
        target_position=at(row=jnp.int32(3), col=jnp.int32(1)),
        action_mask=jnp.array([True, True, False, False]),
    )
    return game, placed


@pytest.mark.slow
def test_maze_walks_to_the_exit_and_not_through_walls(maze: tuple[Maze, Any]) -> None:
    game, state = maze
    blocked, reward, done = game.step(state, press(DOWN))
    assert (int(blocked.agent_position.row), float(reward), bool(done)) == (2, 0, False)
    beside, reward, done = game.step(blocked, press(RIGHT))
    assert (int(beside.agent_position.col), float(reward), bool(done)) == (1, 0, False)
    assert int(game.known(beside)) == 1
    arrived, reward, done = game.step(beside, press(DOWN))
    assert (float(reward), bool(done), bool(game.succeeded(arrived))) == (1, True, True)


def test_a_key_that_a_game_does_not_know_does_nothing(maze: tuple[Maze, Any]) -> None:
    game, state = maze
    after, _, done = game.step(state, DeviceCall.nothing())
    assert (int(after.agent_position.row), int(after.agent_position.col), bool(done)) == (2, 0, False)


def test_maze_is_drawn_as_it_is(maze: tuple[Maze, Any]) -> None:
    game, state = maze
    drawn = game.draw(state)
    assert drawn.shape == (64, 64, 3) and drawn.dtype == jnp.uint8
    assert tuple(cell(drawn, 1, 1)[8, 8]) == WALL and tuple(cell(drawn, 0, 0)[8, 8]) == FLOOR
    assert tuple(cell(drawn, 2, 0)[8, 8]) == PLAYER


@pytest.mark.slow
def test_2048_merges_once_and_counts() -> None:
    game = Game2048(opening=0)
    state = game.reset(jax.random.key(0))
    board = jnp.array([[1, 1, 1, 1], [2, 0, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0]])
    state = state.replace(board=board, action_mask=jnp.ones(4, bool))
    after, reward, done = game.step(state, press(LEFT))
    kept = np.asarray(after.board)[:2]
    np.testing.assert_array_equal(kept[:, :2], [[2, 2], [3, 3]])  # merged tiles do not merge again
    assert float(reward) == pytest.approx((4 + 4 + 8) / 100)
    assert (int((after.board > 0).sum()), bool(done)) == (5, False)  # and a new tile
    assert len({tuple(cell(game.draw(state), 1, column)[8, 8]) for column in range(4)}) == 3


def test_sokoban_pushes_one_box_home() -> None:
    game = Sokoban()
    fixed, moving = (jnp.asarray(each) for each in game.outside())
    fixed, moving = fixed.at[1, 2].set(2), moving.at[1, 0].set(3).at[1, 1].set(4)
    state = Level(
        key=jax.random.key(0),
        fixed_grid=fixed,
        variable_grid=moving,
        agent_location=jnp.array([1, 0]),
        step_count=jnp.int32(0),
    )
    assert not game.succeeded(state)
    assert int(game.known(state)) == 1
    after, reward, done = game.step(state, press(RIGHT))
    assert (float(reward), bool(done)) == (1, True)
    assert (int(after.variable_grid[1, 2]), int(after.variable_grid[1, 1])) == (4, 3)
    away, reward, done = game.step(state, press(LEFT))  # the wall of the page
    assert (float(reward), bool(done)) == (0, False)
    np.testing.assert_array_equal(away.agent_location, [1, 0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["snake", "sokoban", "maze"])
@pytest.mark.first(1)
def test_experts_solve_what_can_be_solved(name: str) -> None:
    game = make_game(name, {})

    def play(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        start = game.reset(key)

        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            state, alive = carry
            plan = game.expert(state, key, jnp.float32(1.0))
            after, _, done = game.step(state, press(0).replace(choice=plan.calls[0]))  # type: ignore[attr-defined]
            return (jax.tree.map(lambda new, old: jnp.where(alive, new, old), after, state), alive & ~done), None

        (last, _), _ = jax.lax.scan(step, (start, jnp.bool_(True)), jax.random.split(key, 12))
        return game.succeeded(start), game.succeeded(last)

    before, after = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(1), 32))
    assert not before.any()
    assert after.mean() > 0.8  # two fruits may take the snake more steps than these


def test_games_by_name() -> None:
    assert all(hash(make_game(name, {})) == hash(make_game(name, {})) for name in GAMES)
    assert make_game("maze", {"side": 8}).size == (128, 128)
    with pytest.raises(InputError, match="game.name must be one of 2048, .*, sokoban; got 'chess'"):
        make_game("chess", {})
    with pytest.raises(InputError, match="an option of game maze must be .*; got 'depth'"):
        make_game("maze", {"depth": 1})
    with pytest.raises(InputError, match="game maze: side must be int; got 1.5"):
        make_game("maze", {"side": 1.5})


@pytest.mark.slow
def test_jumanji_leaves_notebooks_alone() -> None:
    """It would ask for a backend of matplotlib that few notebooks have. A fresh process: games are imported once."""
    lines = (
        "import builtins, sys",
        "from tars_jax import InputError",
        "from tars_jax.envs.on_device.catalog import make_game",
        "builtins.__IPYTHON__, sys.modules['jumanji'] = True, None",
        "make_game('checklist', {})",
        "try:",
        "    make_game('maze', {})",
        "except InputError as error:",
        "    print(error)",
        "del sys.modules['jumanji']",
        "print(make_game('maze', {}).size, builtins.__IPYTHON__)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "game maze needs jumanji: pip install 'tars_jax[on_device]'",
        "(96, 96) True",
    ]
