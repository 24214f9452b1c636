"""LMGame-Bench's games in a real Chromium: rules against recorded packages, scores, reference players."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tars_jax import InputError
from tars_jax.agent import Action, Click, Drag, Hotkey, Point, action_from_call
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task, Transition
from tars_jax.envs import BrowserGame
from tars_jax.envs.background import background
from tars_jax.envs.gym import browser_config
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.tasks.games.moves import cell_point
from tars_jax.tasks.library import load_playable, playable_names
from tars_jax.tasks.lmgame.catalog import candies, load_lmgame, sokoban_levels, tetrominoes
from tars_jax.tasks.lmgame.sokoban.reference import solution
from tars_jax.tasks.sampling import sample_task

pytestmark = pytest.mark.browser
T = TypeVar("T")
GOLDEN = json.loads((Path(__file__).parents[1] / "tasks/goldens/lmgame.json").read_text())
CORRIDOR = "#######\n#@ $ ?#\n#######"
CHEAT = """(() => {
    const state = game.state();
    for (const [key, value] of Object.entries(state)) {
        if (Array.isArray(value)) value.filter(Array.isArray).forEach((line) => { line[0] = 9; });
        state[key] = 99;
    }
})()"""
WALL = "########\n#@$ ?###\n########"


class Table:
    """One page, and the last frame that it showed."""

    def __init__(self, manager: BrowserManager, run: Callable[[Awaitable[Any]], Any]) -> None:
        self.game, self.run = BrowserGame(manager), run

    def reset(self, name: str, seed: int = 2, **options: Any) -> dict[str, Any]:
        frame = self.run(self.game.reset(Task("t", f"lmgame/{name}", seed, options, 50)))
        state: dict[str, Any] = frame.info["state"]
        return state

    def act(self, *actions: Action) -> tuple[dict[str, Any], float]:
        transition: Transition = self.run(self.game.step(actions))
        return transition.observation.info["state"], transition.reward

    def keys(self, *keys: str) -> tuple[dict[str, Any], float]:
        return self.act(*(Hotkey((key,)) for key in keys))

    def evaluate(self, expression: str) -> Any:
        assert self.game.page is not None
        return self.run(self.game.page.evaluate(expression))


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with asyncio.Runner() as runner:

        async def awaited(work: Awaitable[T]) -> T:
            return await work

        def run(work: Awaitable[T]) -> T:
            return runner.run(awaited(work))

        manager = BrowserManager(BrowserConfig(browsers=1))
        run(manager.start())
        yield Table(manager, run)
        run(manager.close())


def test_2048_slides_as_gymnasium_2048_does(table: Table) -> None:
    table.reset("2048")
    boards = json.dumps([record["tiles"] for record in GOLDEN["2048"]])
    found = table.evaluate(f"""{boards}.map((tiles) => ({{
        after: Object.fromEntries(Object.keys(Kit.DIRECTIONS).map((way) => [way, slide(tiles, way)])),
        over: legalDirections(tiles).length === 0}}))""")
    for record, ours in zip(GOLDEN["2048"], found, strict=True):
        assert ours["over"] == record["over"]
        for direction, (tiles, gained, legal) in record["after"].items():
            after = ours["after"][direction]
            assert (after["tiles"], after["gained"], after["changed"]) == (tiles, gained, legal), record["tiles"]


def digits(state: dict[str, Any]) -> str:
    return "".join(str(color) for line in state["tiles"] for color in line)


def test_candy_crush_plays_as_tile_match_gym_does(table: Table) -> None:
    episode = GOLDEN["candy_crush"]
    state = table.reset("candy_crush", episode["seed"])
    assert digits(state) == episode["boards"][0]
    for number, ((one, other), cleared) in enumerate(zip(episode["swaps"], episode["cleared"], strict=True)):
        assert len(state["swaps"]) == episode["effective"][number]
        start, end = (Point(*cell_point(state, column, row)) for row, column in (one, other))
        move: Sequence[Action] = (Click(start), Click(end)) if number % 3 == 0 else (Drag(start, end),)
        state, reward = table.act(*move)
        assert (digits(state), reward) == (episode["boards"][number + 1], cleared)
        assert state["moves_left"] == 49 - number
    assert state["score"] == sum(episode["cleared"])


def test_candy_crush_selects_and_lets_go(table: Table) -> None:
    state = table.reset("candy_crush")
    corner, far = Point(*cell_point(state, 0, 0)), Point(*cell_point(state, 5, 5))
    assert table.act(Click(corner))[0]["selected"] == [0, 0]
    assert table.act(Click(far))[0]["selected"] == [5, 5]
    state, _ = table.act(Click(far), Drag(corner, Point(0, 0)))
    assert (state["selected"], state["moves_left"]) == (None, 50)


def test_sokoban_counts_boxes_that_come_onto_targets(table: Table) -> None:
    state = table.reset("sokoban", levels=[CORRIDOR.replace("? ", " ?"), WALL])
    assert state["room"] == CORRIDOR.split("\n")
    assert table.keys("left", "up")[0]["moves"] == 0
    state, reward = table.keys("right", "right", "right")
    assert (reward, state["level"], state["room"][1]) == (1, 2, "#@$ ?###")
    state, reward = table.act(Click(Point(*cell_point(state, 5, 1))))  # a click sends the worker one step that way
    assert (reward, state["room"][1]) == (0, "# @$?###")
    state, reward = table.keys("right")
    assert (reward, state["score"], state["on_target"]) == (1, 2, 1)
    verdict = table.evaluate("window.verify()")
    assert (verdict["done"], verdict["success"], verdict["score"]) == (True, True, 2)


def test_sokoban_counts_boxes_that_stand_on_targets_so_pushing_one_off_and_on_again_earns_nothing(table: Table) -> None:
    """As `total_score` of LMGame-Bench: boxes of the levels behind, and those that stand on targets now."""
    state = table.reset("sokoban", levels=["######\n#  @ #\n# $* #\n#    #\n# ?  #\n######"])
    assert (state["boxes"], state["on_target"], state["score"]) == (2, 1, 1)
    state, reward = table.keys("down")
    assert (reward, state["on_target"], state["score"]) == (-1, 0, 0)
    state, reward = table.keys("right", "down", "down", "left", "up")
    assert (reward, state["on_target"], state["score"]) == (1, 1, 1)


def test_a_box_that_stands_on_a_target_where_a_level_begins_counts_there(table: Table) -> None:
    table.reset("sokoban", levels=[CORRIDOR, "#######\n#@ * *#\n# $ ? #\n#######"])
    state, reward = table.keys("right", "right", "right")
    assert (state["level"], reward, state["score"]) == (2, 3, 3)  # one of the level behind, two of the new one


def test_sokoban_refuses_what_is_no_level(table: Table) -> None:
    for level in ("#@#", "#@$#", "#@@$?#", "#@$?x#"):
        with pytest.raises(InputError, match="option levels takes"):
            table.reset("sokoban", levels=[level])
    with pytest.raises(InputError, match="option levels"):
        table.reset("sokoban", levels=[])


def test_levels_of_a_file(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "levels.txt"
    path.write_text(f"Level 1\n{CORRIDOR}\n\nLevel 2\n{WALL}")
    assert sokoban_levels(path) == [CORRIDOR, WALL]
    assert table.reset("sokoban", levels=sokoban_levels(path))["levels"] == 2
    for text in ("", CORRIDOR, "Level 1\n###"):
        path.write_text(text)
        with pytest.raises(InputError, match='lines of "Level N"'):
            sokoban_levels(path)
    with pytest.raises(InputError, match="cannot be read"):
        sokoban_levels(tmp_path)


def test_tetris_moves_turns_and_rests(table: Table) -> None:
    state = table.reset("tetris", 42)
    dealt = [int(digit) for digit in tetrominoes(42)[:12]]
    assert sorted(dealt[:7]) == list(range(7))
    assert [state["piece"]["kind"], *state["queue"]] == dealt[:5]
    x, y = state["piece"]["x"], state["piece"]["y"]
    state, _ = table.keys("left")
    assert (state["piece"]["x"], state["piece"]["y"]) == (x - 1, y + 1)
    shape = state["piece"]["shape"]
    turned, _ = table.keys("up")
    assert turned["piece"]["shape"] == np.rot90(shape, -1).tolist()
    assert table.keys("z")[0]["piece"]["shape"] == shape
    state, _ = table.keys("down")
    assert state["piece"]["y"] == y + 5
    state, reward = table.keys("space")
    assert (reward, state["pieces"], state["piece"]["kind"]) == (1, 1, dealt[1])
    assert sum(value > 0 for line in state["well"] for value in line) == 4


def test_a_piece_lowered_on_the_ground_hands_its_gravity_to_the_next_one(table: Table) -> None:
    heights = []
    for first in ("left", "down"):  # one row and two: so it is lowered once on the ground and once above it
        table.reset("tetris", 42)
        state, _ = table.keys(first)
        while state["pieces"] == 0:
            state, reward = table.keys("down")
        assert reward == 1
        heights.append(state["piece"]["y"])
    assert sorted(heights) == [0, 1]


def test_tetris_by_mouse(table: Table) -> None:
    state = table.reset("tetris")
    x = state["piece"]["x"]
    assert table.act(Click(Point(*cell_point(state, 0, 5))))[0]["piece"]["x"] == x - 1
    state, _ = table.act(Click(Point(*cell_point(state, 9, 5))))
    assert state["piece"]["x"] == x
    state, reward = table.act(Click(Point(*cell_point(state, x + 1, 19))))
    assert (reward, state["pieces"]) == (1, 1)


def test_a_full_row_of_tetris_counts_ten_and_a_full_well_ends(table: Table) -> None:
    rows = "[...emptyBoard().slice(1), [...Array(6).fill(1), 0, 0, 0, 0]]"
    table.reset("tetris")
    assert table.evaluate(f"settled({rows}, {{...fresh(0), x: 6, y: 18}}).lines") == 1
    rewards = 0.0
    for _ in range(20):
        state, reward = table.keys("space")
        rewards += reward
    assert state["over"] and table.evaluate("window.verify().done")
    assert rewards == state["pieces"] == state["score"] < 20


def test_nobody_playing_scores_nothing_and_the_page_cannot_be_talked_into_more(table: Table) -> None:
    for name in playable_names("lmgame"):
        table.reset(name.removeprefix("lmgame/"))
        table.evaluate(CHEAT)
        verdict = table.evaluate("window.verify()")
        assert (verdict["score"], verdict["done"], verdict["success"]) == (0, False, False)


@pytest.mark.full
def test_our_six_levels_of_sokoban_are_solved_within_the_benchmarks_budget(table: Table) -> None:
    playable = load_playable("lmgame/sokoban")
    state, rng, score, steps = table.reset("sokoban"), random.Random(0), 0.0, 0
    lengths: list[int] = []
    while steps < playable.steps_for({}):
        if len(lengths) < state["level"]:
            lengths.append(len(solution(tuple(state["room"])) or ()))
        move = playable.reference(state, rng)
        state, reward = table.act(action_from_call(move.function, move.parameters))
        steps, score = steps + 1, score + reward
        if table.evaluate("window.verify().success"):
            break
    assert (len(lengths), steps) == (6, sum(lengths))
    assert score == 16 == state["score"]


@pytest.mark.full
def test_reference_players_beat_random_ones(table: Table) -> None:
    for name, moves, least in (("candy_crush", 12, 1.2), ("tetris", 80, 1.2)):
        playable, scores = load_playable(f"lmgame/{name}"), []
        for skill in (1.0, 0.0):
            state, rng, score = table.reset(name), random.Random(1), 0.0
            for _ in range(moves):
                move = playable.reference(state, rng, skill)
                state, reward = table.act(action_from_call(move.function, move.parameters))
                score += reward
                if state.get("over"):
                    break
            scores.append(score)
        assert scores[0] > least * scores[1], (name, scores)


def test_the_board_and_what_the_last_moves_did_are_told_as_text(table: Table) -> None:
    """With it each observation has the board as text, worked out from the state; without it none has any."""
    told = {
        "2048": "row by row, 0 where a place is empty", "candy_crush": "R red", "sokoban": "@ worker", "tetris": "Next:"
    }  # fmt: skip
    for name, words in told.items():
        playable = load_playable(f"lmgame/{name}")
        game = Task("t", playable.name, playable.benchmark_task().seed, {"board_text": True}, 50)  # type: ignore[attr-defined]
        shown, rng = table.run(table.game.reset(game)), random.Random(0)
        assert words in shown.text and "Last moves" not in shown.text and len(shown.text) < 1200
        for turn in range(12):
            move = playable.reference(shown.info["state"], rng)
            shown = table.run(table.game.step([action_from_call(move.function, move.parameters)])).observation
            moves = shown.text.partition("Last moves, the oldest first:\n")[2].splitlines()
            assert len(moves) == min(turn + 1, 10)
        assert f"Score: {shown.info['state']['score']}" in shown.text
        gains = [
            float(line.rpartition(": ")[2].split()[0]) for line in moves if line.endswith(" points") and "+" in line
        ]
        assert sum(gains) > 0
    first = table.run(table.game.reset(dataclasses.replace(game, options={})))
    assert first.text == "" and first.info["state"]["game"] == "tetris"
    board = table.run(table.game.reset(Task("t", "lmgame/sokoban", 42, {"board_text": True}, 50)))
    assert "\n".join(board.info["state"]["room"]) in board.text
    turned = table.run(table.game.step([action_from_call("wait", {"time": 1})])).observation
    assert turned.text.endswith("wait(time='1'): nothing changed")
    with pytest.raises(InputError, match="option board_text"):
        load_playable("lmgame/tetris").check_options({"board_text": "text"})


def test_streams_continue_what_they_began() -> None:
    assert set(candies(3)) == set("1234") and set(tetrominoes(3)) == set("0123456")
    assert all(set(tetrominoes(5)[start : start + 7]) == set("0123456") for start in range(0, 700, 7))


def test_what_needs_a_rom_says_so() -> None:
    for name in ("super_mario_bros", "ace_attorney"):
        with pytest.raises(InputError, match="needs a ROM that you own"):
            load_playable(f"lmgame/{name}")
    with pytest.raises(InputError, match="needs a ROM"):
        gymnasium.make("TarsJax/LMGame-SuperMarioBros-v0")
    with pytest.raises(InputError, match="a game of LMGame-Bench must be .*; got 'lmgame/chess'"):
        load_lmgame("lmgame/chess")
    with pytest.raises(InputError, match="an option must be .*; got level"):
        sample_task("lmgame/tetris", "eval", 0, 0, {"level": 1})


@pytest.mark.full
def test_as_gymnasium_environments() -> None:
    config = browser_config(96, 96)
    background().acquire(config)  # one browser for all of them
    for name in ("2048", "CandyCrush", "Sokoban", "Tetris"):
        env = gymnasium.make(f"TarsJax/LMGame-{name}-v0").unwrapped
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings(
                "ignore", message=".*symmetric and normalized space"
            )  # the grid is 0..1000 on purpose
            check_env(env)
        env.close()
    background().release(config)


def test_a_given_seed_is_that_of_every_episode() -> None:
    env = gymnasium.make("TarsJax/LMGame-CandyCrush-v0", level_seed=42)
    for seed in (0, 1):
        _, info = env.reset(seed=seed)
        assert (info["level_seed"], digits(info["state"])) == (42, GOLDEN["candy_crush"]["boards"][0])
    env.close()


@pytest.mark.multiprocess
def test_rollout_workers_play_them(tmp_path: Path) -> None:
    writer = PromptWriter(load_tokenizer(), image_tokens=36)
    tasks = [load_lmgame(f"lmgame/{name}").benchmark_task() for name in ("sokoban", "tetris")]
    tasks = [Task(task.id, task.environment, task.seed, task.options, 12) for task in tasks]
    player = reference_player(writer, "text", skill=1.0)
    with Rollouts(BrowserConfig(browsers=1), writer, AgentConfig(), 2) as rollouts:
        sokoban, tetris = rollouts.play(tasks, player, tmp_path)
    assert sokoban.reward == sokoban.metadata["final"]["verdict"]["score"] == 3
    assert tetris.reward == tetris.metadata["final"]["verdict"]["score"] > 0
    assert len(sokoban.steps) == 12
