"""Environments that somebody else wrote for gymnasium, played by calls of one function."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import types
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.agent import Finished
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition, Verification
from tars_jax.envs.gymnasium_adapter import GymnasiumEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment

GRID = "tars_jax.envs.examples.grid_gymnasium:Grid-v0"
MOVES = ["up", "right", "down", "left"]
FRAMES: dict[str, Any] = {"render_mode": "rgb_array"}
LAKE: dict[str, Any] = {"render_mode": "ansi", "is_slippery": False, "action_names": ["left", "down", "right", "up"]}
DRAWS = importlib.util.find_spec("pygame") is not None


def act(action: Any) -> Any:
    return types.SimpleNamespace(name="act", parameters={"action": action})


def task(seed: int = 2, instruction: str = "") -> Task:
    return Task("t", "gymnasium", seed, {}, 8, instruction)


def play(environment: GymnasiumEnvironment, *turns: Any, seed: int = 2) -> tuple[Observation, list[Transition]]:
    first = environment.reset(task(seed))
    transitions = [environment.step(turn) for turn in turns]
    environment.close()
    return first, transitions


class Counts(gymnasium.Env[Any, Any]):
    """Rewards what it is told to; its spaces are the test's."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as gymnasium.Env has it
    observation_space: Any = spaces.Discrete(100)
    action_space: Any = spaces.Box(-5, 5, (1,), np.float64)

    def __init__(self, length: int = 3) -> None:
        self.length, self.count, self.seeds = length, 0, list[int | None]()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.count = 0
        return self.count, {"seed": seed, "array": np.zeros(2), "thing": object()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.count += 1
        return self.count, np.float64(np.ravel(action)[0]), self.count >= self.length, False, {}


gymnasium.register("Counts-v0", entry_point=f"{__name__}:Counts", reward_threshold=2.0, max_episode_steps=9)
gymnasium.register("Falls-v0", entry_point=f"{__name__}:Counts", reward_threshold=-2.0)
gymnasium.register("Open-v0", entry_point=f"{__name__}:Counts")


def test_frames_are_screenshots_and_a_discrete_space_is_a_function() -> None:
    environment = GymnasiumEnvironment(GRID, render_mode="rgb_array")
    first, (turn,) = play(environment, [act(1)])
    assert first.pixels is not None and first.pixels.shape == (48, 48, 3) and first.text == ""
    assert turn.observation.screenshot and turn.observation.screenshot != b""
    (function,) = environment.action_space.functions
    assert function.name == "act" and not environment.action_space.actions
    assert function.parameters["properties"]["action"] == {"type": "integer", "minimum": 0, "maximum": 3}


def test_an_episode_through_the_registry_is_what_gymnasium_plays() -> None:
    """The same seed and actions, once through the adapter and its guard, once by gymnasium itself."""
    raw = gymnasium.make(GRID, render_mode="rgb_array")
    seen, _ = raw.reset(seed=6)
    frames, rewards, over = [raw.render()], list[float](), False
    moves = [2, 1, 0, 3]
    for move in moves:
        if not over:
            seen, reward, terminated, truncated, _ = raw.step(np.int64(move))
            frames.append(raw.render())
            rewards.append(float(reward))
            over = terminated or truncated

    async def played() -> tuple[list[Any], list[float]]:
        options = {"action_names": MOVES, **FRAMES}
        environment = load_environment(f"gymnasium:{GRID}", options).checked(EnvironmentResources())
        shown, earned = [(await environment.reset(task(6))).pixels], list[float]()
        for move in moves[: len(rewards)]:
            transition = await environment.step([act(MOVES[move])])
            shown.append(transition.observation.pixels)
            earned.append(transition.reward)
        await environment.close()
        assert transition.terminated or transition.truncated
        assert transition.observation.info["state"]["observation"] == seen.tolist()
        return shown, earned

    shown, earned = asyncio.run(played())
    assert earned == rewards
    for mine, theirs in zip(shown, frames, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_seed_is_the_tasks() -> None:
    environment = GymnasiumEnvironment(GRID)
    states = [environment.reset(task(seed)).info["state"] for seed in (4, 4, 2**53 - 1, 8, 10)]
    assert states[0] == states[1] and len({json.dumps(state) for state in states}) > 2


def test_frames_are_made_as_large_as_asked() -> None:
    halved, _ = play(GymnasiumEnvironment(GRID, size=24))
    wide, _ = play(GymnasiumEnvironment(GRID, size=[96, 48]))
    full, _ = play(GymnasiumEnvironment(GRID, text=False))
    assert halved.pixels is not None and wide.pixels is not None and full.pixels is not None
    np.testing.assert_array_equal(halved.pixels, full.pixels[::2, ::2])
    assert wide.pixels.shape == (48, 96, 3)


def test_a_few_numbers_are_text_alone_unless_pictures_are_asked_for() -> None:
    first, _ = play(GymnasiumEnvironment(GRID))
    assert first.screenshot == b"" and first.text == ", ".join(f"{x:+d}" for x in first.info["state"]["observation"])
    both, _ = play(GymnasiumEnvironment(GRID, text=True, **FRAMES))
    assert both.screenshot and both.text == first.text
    for options in (FRAMES, {"text": False}, {"size": 24}):
        frames, _ = play(GymnasiumEnvironment(GRID, **options))
        assert frames.screenshot and frames.text == ""
    alone, (turn,) = play(GymnasiumEnvironment("Counts-v0"), [act([1])])
    assert (alone.screenshot, alone.text, turn.observation.text) == (b"", "00", "01")


class Sees(Counts):
    """Its observation is a stack of two gray frames of 8x10 pixels, 2-D and in front or behind; or one and a number."""

    def __init__(self, form: str = "front", length: int = 3) -> None:
        super().__init__(length)
        shape = {"front": (2, 8, 10), "behind": (8, 10, 2), "entry": (8, 10)}[form]
        self.form, self.observation_space = form, spaces.Box(0, 255, shape, np.uint8)
        if form == "entry":
            self.observation_space = spaces.Dict({"camera": self.observation_space, "fuel": spaces.Discrete(101)})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self.seen(), 0.0, False, False, {}

    def seen(self) -> Any:
        frames = np.stack([np.full((8, 10), 60, np.uint8), np.full((8, 10), 200, np.uint8)])
        if self.form == "entry":
            return {"camera": frames[1], "fuel": 7}
        return frames if self.form == "front" else np.moveaxis(frames, 0, 2)


gymnasium.register("Sees-v0", entry_point=f"{__name__}:Sees")


@pytest.mark.parametrize("form", ["front", "behind"])
def test_a_stack_of_frames_is_the_screenshot_frames_side_by_side(form: str) -> None:
    first, _ = play(GymnasiumEnvironment("Sees-v0", form=form))
    assert first.pixels is not None and first.pixels.shape == (8, 20, 3) and first.text == ""
    assert np.all(first.pixels[:, :10] == 60) and np.all(first.pixels[:, 10:] == 200)


def test_a_picture_among_numbers_is_the_screenshot_and_they_are_text() -> None:
    first, _ = play(GymnasiumEnvironment("Sees-v0", form="entry"))
    assert first.pixels is not None and first.pixels.shape == (8, 10, 3) and np.all(first.pixels == 200)
    assert first.text == "fuel: 007"
    alone, _ = play(GymnasiumEnvironment("Sees-v0", form="entry", text=False, size=20))
    assert alone.pixels is not None and alone.pixels.shape == (20, 20, 3) and alone.text == ""


def test_text_renderings_keep_what_they_mark() -> None:
    first, (turn,) = play(GymnasiumEnvironment("FrozenLake-v1", **LAKE), [act("down")])
    assert first.text == "00\n[S]FFF\nFHFH\nFFFH\nHFFG"
    assert turn.observation.text == "04\n  (Down)\nSFFF\n[F]HFH\nFFFH\nHFFG"
    taxi, _ = play(GymnasiumEnvironment("Taxi-v4", render_mode="ansi"))
    assert "\x1b" not in taxi.text


def test_rewards_of_a_turn_are_summed_and_what_follows_the_end_is_not_played() -> None:
    _, (first, second) = play(GymnasiumEnvironment("Open-v0"), [act([1]), act([0.5])], [act([2]), act([4])])
    assert (first.reward, first.terminated, second.reward, second.terminated) == (1.5, False, 2.0, True)


@pytest.mark.parametrize(
    ("id", "options", "rewards", "successes"),
    [
        ("Counts-v0", {}, [1, 1, 0], [False, True, True]),
        ("Counts-v0", {"success_return": 3}, [1, 1, 0], [False, False, False]),
        ("Counts-v0", {}, [2, -1, 0], [True, False, False]),
        ("Open-v0", {}, [5, 5, 5], [None, None, None]),
        ("Open-v0", {"success_return": 5.0}, [5, 0, 0], [True, True, True]),
        ("Falls-v0", {}, [-1, -1, 0], [False, False, True]),
        ("Falls-v0", {}, [-1, -1, -1], [False, False, False]),
    ],
)
def test_success_is_a_return(id: str, options: dict[str, Any], rewards: list[float], successes: list[Any]) -> None:
    _, turns = play(GymnasiumEnvironment(id, **options), *([act([reward])] for reward in rewards))
    assert [turn.success for turn in turns] == successes


class Tells(Counts):
    """Says in its info what the action says: 2 is nothing, else 1 or 0."""

    def __init__(self, key: str = "is_success") -> None:
        super().__init__(9)
        self.key = key

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        said = float(action[0])
        return self.count, 1.0, False, False, {} if said == 2 else {self.key: np.bool_(said)}


gymnasium.register("Tells-v0", entry_point=f"{__name__}:Tells", reward_threshold=2.0)


@pytest.mark.parametrize("key", ["is_success", "success"])
def test_success_is_what_the_environment_says_last(key: str) -> None:
    turns = [[act([said])] for said in (2, 0, 1, 2, 0)]
    _, said = play(GymnasiumEnvironment("Tells-v0", key=key), *turns)
    assert [turn.success for turn in said] == [False, False, True, True, False]  # until it says so, the return counts
    _, own = play(GymnasiumEnvironment("Tells-v0", key=key, success_return=3), *turns)
    assert [turn.success for turn in own] == [False, False, True, True, True]
    environment = GymnasiumEnvironment("Tells-v0", key=key)
    environment.reset(task())
    assert environment.step([act([1])]).success is True
    environment.reset(task())
    assert environment.step([act([2])]).success is False  # nothing is left of the episode before


def limited(steps: int | None = None) -> gymnasium.Env[Any, Any]:
    env: gymnasium.Env[Any, Any] = Counts(99)
    if steps is None:
        env.max_steps = 7  # type: ignore[attr-defined]
        return env
    return gymnasium.wrappers.TimeLimit(env, steps)


gymnasium.register("Limited-v0", entry_point=limited)  # type: ignore[arg-type] # a function, as it may be


@pytest.mark.parametrize(
    ("id", "options", "limit"),
    [
        ("Counts-v0", {}, 9),
        ("Counts-v0", {"max_episode_steps": 4}, 4),
        ("Counts-v0", {"max_episode_steps": -1}, 100),
        ("Open-v0", {"size": 3}, 100),
        ("Limited-v0", {"steps": 5}, 5),
        ("Limited-v0", {}, 7),
    ],
)
def test_the_limit_of_an_episode_is_its_own(id: str, options: dict[str, Any], limit: int) -> None:
    assert load_environment(f"gymnasium:{id}", options).default_max_steps(options) == limit


def test_a_success_that_a_limit_of_steps_may_not_allow_is_said() -> None:
    spec = load_environment("gymnasium:Counts-v0", {})
    assert spec.success_return({}) == 2 and spec.success_return({"success_return": 3.5}) == 3.5

    def task(steps: int, **told: Any) -> Task:
        return Task("a", spec.name, 0, {}, steps, verification=Verification(**told))

    assert spec.doubt_of_limit(task(9)) == "" and spec.doubt_of_limit(task(4), largest_reward=0.5) == ""
    assert spec.doubt_of_limit(task(4, threshold=1.0), 0.25) == ""  # the task's own, before the environment's
    start = "gymnasium:Counts-v0: a success is a return of at least 2, which "
    assert spec.doubt_of_limit(task(4)) == start + "may take more than 4 steps; its own limit is 9 steps"
    assert spec.doubt_of_limit(task(4), 0.25) == (
        start + "cannot be reached in 4 steps, as no step has earned more than 0.25; its own limit is 9 steps"
    )
    for without in ("Open-v0", "Falls-v0"):  # no return is asked for, or one that falls
        assert load_environment(f"gymnasium:{without}", {}).doubt_of_limit(task(1), 0.0) == ""


def test_truncation_is_gymnasiums() -> None:
    environment = GymnasiumEnvironment("Counts-v0", length=50, max_episode_steps=2)
    _, (first, second) = play(environment, [act([0])], [act([0])])
    assert (first.truncated, second.truncated, second.terminated) == (False, True, False)


def test_an_agent_that_says_that_it_is_done_is_done() -> None:
    _, (turn,) = play(GymnasiumEnvironment("Counts-v0"), [act([1]), Finished(), act([1])])
    assert turn.terminated and turn.reward == 1


@pytest.mark.parametrize("call", [act("west"), act([7]), act(None), act([1, 1]), act([True]), types.SimpleNamespace()])
def test_a_call_that_cannot_be_is_answered_in_the_next_observation(call: Any) -> None:
    _, (turn, further) = play(GymnasiumEnvironment("Counts-v0"), [call], [act([1])])
    assert "must be" in turn.observation.text and turn.observation.text.endswith("\n00")
    assert not turn.terminated and further.observation.text == "01"


def test_info_is_json_for_verification() -> None:
    first, _ = play(GymnasiumEnvironment("Counts-v0"))
    info = {"seed": 2, "array": [0.0, 0.0]}
    assert json.loads(json.dumps(first.info)) == {"state": {"observation": 0, "info": info}, "return": 0.0}


def test_the_instruction() -> None:
    environment = GymnasiumEnvironment(GRID)
    environment.reset(task(instruction="Go to the green square."))
    assert environment.instruction == "Go to the green square."
    environment.reset(task())
    assert environment.instruction == "Play Grid-v0."
    own = GymnasiumEnvironment(GRID, instruction="Walk.")
    own.reset(task(instruction="Go."))
    assert own.instruction == "Walk."


# ---- what cannot be


@pytest.mark.parametrize(
    ("id", "options", "said"),
    [
        ("CartPol-v1", {}, "Did you mean"),
        ("Taxi-v3", {"render_mode": None}, "deprecated"),
        ("no.such.module:Grid-v0", {}, "No module named 'no'"),
        (GRID, {"sise": 3}, "unexpected keyword argument 'sise'"),
        (GRID, {"size": 0}, r"option size must be a number of pixels, or \[width, height\]; got 0"),
        (GRID, {"text": 1}, "option text must be true or false; got 1"),
        (GRID, {"action_names": "up"}, "option action_names must be different names"),
        (GRID, {"action_names": ["up", "up", "down", "left"]}, "option action_names"),
        (GRID, {"action_names": ["up"]}, "must name the actions of"),
        (GRID, {"success_return": float("nan")}, "option success_return must be a finite number"),
        (GRID, {"instruction": 3}, "option instruction must be a text"),
        (GRID, {"render_mode": None, "text": False}, "must have a rendering as rgb_array, or small observations"),
        ("Sees-v0", {"text": True}, "option text must be false where observations are large"),
    ],
)
def test_what_gymnasium_or_the_adapter_cannot_have(id: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        GymnasiumEnvironment(id, **options)


@pytest.mark.skipif(importlib.util.find_spec("ale_py") is not None, reason="Atari is installed here")
def test_a_namespace_without_its_package() -> None:
    with pytest.raises(InputError, match=r"ALE/Pong-v5 must have its package; .* 'gymnasium\[atari\]'"):
        GymnasiumEnvironment("ALE/Pong-v5")


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is not None, reason="MuJoCo is installed here")
def test_a_simulator_that_is_not_installed() -> None:
    with pytest.raises(InputError, match="MuJoCo is not installed, run"):
        GymnasiumEnvironment("Ant-v5")


@pytest.mark.skipif(DRAWS, reason="pygame is installed here")
def test_a_drawing_library_that_is_not_installed() -> None:
    environment = GymnasiumEnvironment("CartPole-v1", **FRAMES)
    with pytest.raises(InputError, match=r"must have pygame to draw; .*tars_jax\[gymnasium\]"):
        environment.reset(task())


def test_a_reward_that_is_none_is_a_failure_behind_the_guard() -> None:
    async def play_nan() -> EnvironmentFailure:
        environment = load_environment("gymnasium:NotANumber-v0", {}).checked(EnvironmentResources())
        await environment.reset(task())
        with pytest.raises(EnvironmentFailure) as caught:
            await environment.step([act([1])])
        await environment.close()
        return caught.value

    class NotANumber(Counts):
        def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            return 1, float("nan"), False, False, {}

    gymnasium.register("NotANumber-v0", entry_point=lambda **options: NotANumber(), disable_env_checker=True)
    assert asyncio.run(play_nan()).kind == "reward"
