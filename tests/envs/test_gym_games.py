"""The gymnasium environments, in a real Chromium."""

from __future__ import annotations

import pathlib
import random
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tars_jax.envs
from tars_jax import InputError
from tars_jax.agent import Action, Click, Finished, Hotkey, Point, action_from_call
from tars_jax.data.game_synthesis.source import write_game
from tars_jax.data.game_synthesis.templates import TemplateAuthor
from tars_jax.envs import GameEnv, action_to_space, environment_id
from tars_jax.envs.background import background
from tars_jax.envs.gym import browser_config
from tars_jax.sandbox.browser import BrowserManager, SandboxFailure
from tars_jax.tasks.games.catalog import game_names, load_game

IDS = ("TarsJax/MazePathOfLight-v0", "TarsJax/Game2048-v0", "TarsJax/InfinityLoop-v0")
OTHERS = sorted(environment_id(name) for name in game_names() if environment_id(name) not in IDS)
SIZE = 96


@pytest.fixture(scope="module")
def shared_browser() -> Iterator[None]:
    """Keeps one browser open for the whole file."""
    config = browser_config(SIZE, SIZE)
    background().acquire(config)
    yield
    background().release(config)
    assert not [thread for thread in threading.enumerate() if thread.name == "tars_jax browsers"]


pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_browser")]


def play(env: gymnasium.Env[Any, Any], seed: int, actions: list[Action]) -> list[np.ndarray]:
    frames = [env.reset(seed=seed)[0]]
    for action in actions:
        observation, _, terminated, truncated, _ = env.step(action_to_space(action))
        frames.append(observation)
        if terminated or truncated:
            break
    return frames


def test_a_game_that_lies_in_a_folder(tmp_path: pathlib.Path) -> None:
    """A synthesized one, by its path; its page takes the kit beside it."""
    folder = write_game(TemplateAuthor(0).write(4), tmp_path / "with a space")
    env = GameEnv(folder, width=SIZE, height=SIZE)
    first, info = env.reset(seed=3)
    assert info["instruction"] and first.std() > 1
    env.step(action_to_space(Click(Point(500, 500))))
    again, _ = env.reset(seed=3)
    assert np.array_equal(first, again)
    env.close()


@pytest.mark.parametrize("name", [*IDS, *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)])
@pytest.mark.first(1)
def test_gymnasiums_own_checker(name: str) -> None:
    env = gymnasium.make(name).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")  # the grid is 0..1000 on purpose
        check_env(env)
    env.close()
    env.close()


@pytest.mark.parametrize("name", IDS)
@pytest.mark.first(1)
def test_same_seed_and_actions_give_the_same_screenshots(name: str) -> None:
    rng = random.Random(0)
    actions: list[Action] = [Click(Point(rng.randrange(1000), rng.randrange(1000))) for _ in range(3)]
    actions += [Hotkey((key,)) for key in ("up", "left", "down", "right")]
    first, second = gymnasium.make(name), gymnasium.make(name)
    try:
        frames = play(first, 5, actions)
        play(second, 6, actions)  # another episode before, in the same page
        again = play(second, 5, actions)
        assert [frame.tobytes() for frame in frames] == [frame.tobytes() for frame in again]
        assert len({frame.tobytes() for frame in frames}) > 1
        assert play(first, 7, [])[0].tobytes() != frames[0].tobytes()
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize("name", IDS)
def test_the_reference_player_earns_one_reward(name: str) -> None:
    env = gymnasium.make(name, max_steps=400)
    try:
        assert env.spec is not None
        game = load_game(env.spec.kwargs["game"])
        _, info = env.reset(seed=0)
        assert info["level_seed"] % 2 == 0
        rng, total, terminated, truncated = random.Random(0), 0.0, False, False
        while not (terminated or truncated):
            move = game.reference(info["state"], rng)
            action = action_from_call(move.function, move.parameters)
            _, reward, terminated, truncated, info = env.step(action_to_space(action))
            total += float(reward)
        assert (total, info["verdict"]["success"]) == (1.0, True)
    finally:
        env.close()


def test_truncation_rendering_and_finishing() -> None:
    env = gymnasium.make(IDS[0], max_steps=2, render_mode="rgb_array", level=3)
    nothing = action_to_space(Click(Point(0, 0)))
    try:
        observation, _ = env.reset(seed=1)
        picture = env.render()
        assert isinstance(picture, np.ndarray) and np.array_equal(picture, observation)
        assert env.step(nothing)[2:4] == (False, False)
        assert env.step(nothing)[2:4] == (False, True)
        env.reset(seed=1, options={"level": 1})
        assert env.step(action_to_space(Finished()))[1:4] == (0.0, True, False)
    finally:
        env.close()


def kill_browser(env: GameEnv) -> None:
    """The one that plays: all that play on pages of its size share their browsers."""
    height, width, _ = env.observation_space.shape or ()
    config = browser_config(width, height)
    manager = background().acquire(config)
    assert isinstance(manager, BrowserManager)
    for place in manager.browsers.places:
        if place.launched is not None:
            background().run(place.launched.browser.close())
    background().release(config)


def test_a_dead_browser_is_a_failure_of_the_step_and_heals_with_reset() -> None:
    env = GameEnv("maze_path_of_light")
    try:
        before, _ = env.reset(seed=1)
        kill_browser(env)
        with pytest.raises(SandboxFailure):
            env.step(action_to_space(Click(Point(0, 0))))
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(action_to_space(Click(Point(0, 0))))
        after, _ = env.reset(seed=1)
        assert np.array_equal(before, after)
        kill_browser(env)
        again, _ = env.reset(seed=1)
        assert np.array_equal(before, again)
    finally:
        env.close()


def test_vector_environments_in_one_process_or_several_show_the_same_bytes() -> None:
    """Episodes of three steps: those that follow begin by themselves."""
    shown: dict[str, list[np.ndarray]] = {}
    for mode in ("sync", "async"):
        envs = gymnasium.make_vec(IDS[0], num_envs=2, vectorization_mode=mode, max_steps=3)
        try:
            shown[mode] = [envs.reset(seed=0)[0]]
            assert shown[mode][0].shape == (2, SIZE, SIZE, 3) and not np.array_equal(*shown[mode][0])
            envs.action_space.seed(0)
            ended = 0
            for _ in range(8):
                observations, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
                shown[mode].append(observations.copy())
                ended += int((terminated | truncated).sum())
            assert ended >= 4
        finally:
            envs.close()
    np.testing.assert_array_equal(shown["sync"], shown["async"])


def test_bad_arguments() -> None:
    assert tars_jax.envs.GameEnv is GameEnv
    for kwargs in ({"level": 0}, {"options": {"color": 1}}, {"max_steps": 0}, {"render_mode": "human"}):
        with pytest.raises(InputError):
            GameEnv("maze_path_of_light", **kwargs)
    env = GameEnv("maze_path_of_light")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(action_to_space(Finished()))
    env.close()


@pytest.mark.parametrize(
    ("field", "value"),
    [("width", True), ("height", 96.5), ("width", "96"), ("max_steps", 1.5), ("level_seed", -1), ("level_seed", 2**53)],
)
def test_what_is_no_whole_number_is_refused_at_once(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{field} must be a whole number from [01] to .*; got {value!r}$"):
        GameEnv("maze_path_of_light", **{field: value})


def test_a_size_that_a_task_cannot_have_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="miniwob/click-test must be 160x210 pixels; got 100x210"):
        GameEnv("miniwob/click-test", width=100)


@pytest.mark.parametrize("options", [{"level": 0}, {"loops": 1000}])  # refused here, and by the page
def test_a_reset_that_is_refused_leaves_no_episode(options: dict[str, int]) -> None:
    """Its steps would be told as those of a level that never began; an action that is refused ends nothing."""
    level_seed: Any = np.int64(6)
    env = GameEnv("maze_path_of_light", level_seed=level_seed, render_mode="rgb_array")
    try:
        assert env.reset(seed=1)[1]["level_seed"] == 6
        with pytest.raises(InputError):
            env.step({"call": 99})
        env.step(action_to_space(Click(Point(0, 0))))
        with pytest.raises(InputError) as refused:
            env.reset(seed=2, options=options)
        assert "\n" not in str(refused.value) and env.render() is None
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(action_to_space(Click(Point(0, 0))))
    finally:
        env.close()
