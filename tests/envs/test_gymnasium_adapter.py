"""Environments that somebody else wrote for gymnasium, played by calls of one function."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import types
from typing import Any

import gymnasium
import jsonschema
import numpy as np
import pytest
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.agent import Finished
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.gymnasium_adapter import GymnasiumEnvironment
from tars_jax.envs.gymnasium_spaces import ActFunction, is_readable, plain, written
from tars_jax.envs.registry import EnvironmentResources, load_environment

GRID = "tars_jax.envs.examples.grid_gymnasium:Grid-v0"
MOVES = ["up", "right", "down", "left"]
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
    environment = GymnasiumEnvironment(GRID)
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
        options = {"action_names": MOVES}
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
    full, _ = play(GymnasiumEnvironment(GRID))
    assert halved.pixels is not None and wide.pixels is not None and full.pixels is not None
    np.testing.assert_array_equal(halved.pixels, full.pixels[::2, ::2])
    assert wide.pixels.shape == (48, 96, 3)


def test_observations_as_text_where_that_is_asked_for_or_all_there_is() -> None:
    first, _ = play(GymnasiumEnvironment(GRID, text=True))
    assert first.screenshot and first.text == ", ".join(map(str, first.info["state"]["observation"]))
    alone, (turn,) = play(GymnasiumEnvironment("Counts-v0"), [act([1])])
    assert (alone.screenshot, alone.text, turn.observation.text) == (b"", "0", "1")
    cart, _ = play(GymnasiumEnvironment("CartPole-v1", render_mode=None))
    assert len(cart.text.split(", ")) == 4 and all(len(number) <= 6 for number in cart.text.split(", "))


def test_text_renderings_keep_what_they_mark() -> None:
    first, (turn,) = play(GymnasiumEnvironment("FrozenLake-v1", **LAKE), [act("down")])
    assert first.text == "0\n[S]FFF\nFHFH\nFFFH\nHFFG"
    assert turn.observation.text == "4\n  (Down)\nSFFF\n[F]HFH\nFFFH\nHFFG"
    taxi, _ = play(GymnasiumEnvironment("Taxi-v4", render_mode="ansi"))
    assert "\x1b" not in taxi.text


def test_a_lake_is_crossed() -> None:
    way = [act(move) for move in ["down", "down", "right", "right", "down", "right"]]
    environment = GymnasiumEnvironment("FrozenLake-v1", **LAKE)
    _, turns = play(environment, way[:2], way[2:5], [*way[5:], act("left")])
    assert [turn.reward for turn in turns] == [0, 0, 1]
    assert [turn.terminated for turn in turns] == [False, False, True]
    assert [turn.success for turn in turns] == [False, False, True]


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
    assert "must be" in turn.observation.text and turn.observation.text.endswith("\n0")
    assert not turn.terminated and further.observation.text == "1"


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


# ---- spaces


@pytest.mark.parametrize(
    ("space", "schema", "good", "bad"),
    [
        (spaces.Discrete(3, start=5), {"type": "integer", "minimum": 5, "maximum": 7}, [5, 7, 6.0], [4, 8, 5.5, "5"]),
        (
            spaces.MultiDiscrete([2, 2]),
            {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer", "minimum": 0, "maximum": 1}},
            [[0, 1]],
            [[0, 2], [0], 1, [0.5, 0]],
        ),
        (
            spaces.MultiDiscrete([2, 4]),
            {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "prefixItems": [
                    {"type": "integer", "minimum": 0, "maximum": 1},
                    {"type": "integer", "minimum": 0, "maximum": 3},
                ],
                "items": {"type": "integer", "minimum": 0, "maximum": 3},
            },
            [[1, 3]],
            [[3, 1]],
        ),
        (
            spaces.MultiBinary(3),
            {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "integer", "minimum": 0, "maximum": 1}},
            [[0, 1, 1]],
            [[0, 1, 2]],
        ),
        (
            spaces.Box(-2, 2, (1, 2)),
            {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number", "minimum": -2, "maximum": 2}},
            [[0.5, -2]],
            [[0.5, -2.5], [[0.5, 1]]],
        ),
        (
            spaces.Box(np.array([0, -np.inf]), np.array([np.inf, 1]), dtype=np.float64),
            {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "prefixItems": [{"type": "number", "minimum": 0}, {"type": "number", "maximum": 1}],
                "items": {"type": "number"},
            },
            [[1e6, -1e6]],
            [[-1, 0]],
        ),
        (
            spaces.Box(0, 9, (1,), np.int32),
            {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "integer", "minimum": 0, "maximum": 9}},
            [[9]],
            [[0.5]],
        ),
    ],
    ids=str,
)
def test_action_spaces(space: spaces.Space[Any], schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    act_function = ActFunction("x", space)
    parameters = act_function.function.parameters
    assert parameters["properties"] == {"action": schema}
    for value in good:
        jsonschema.validate({"action": value}, parameters, jsonschema.Draft202012Validator)
        assert space.contains(act_function.sample(act(value)))
    for value in bad:
        with pytest.raises(InputError, match="action must be"):
            act_function.sample(act(value))
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"action": value}, parameters, jsonschema.Draft202012Validator)


def test_names_of_actions() -> None:
    named = ActFunction("x", spaces.Discrete(2, start=3), ["stay", "go"])
    assert named.function.parameters["properties"]["action"] == {"type": "string", "enum": ["stay", "go"]}
    assert named.sample(act("go")) == 4
    with pytest.raises(InputError, match="action must be one of stay, go; got 'run'"):
        named.sample(act("run"))
    for space, names in ((spaces.Discrete(3), ["a"]), (spaces.MultiBinary(2), ["a", "b"])):
        with pytest.raises(InputError, match="action_names must name the actions"):
            ActFunction("x", space, names)


@pytest.mark.parametrize("space", [spaces.Dict({"a": spaces.Discrete(2)}), spaces.Text(3)], ids=str)
def test_action_spaces_that_are_no_function(space: spaces.Space[Any]) -> None:
    with pytest.raises(InputError, match="must be Discrete, MultiDiscrete, MultiBinary or Box"):
        ActFunction("x", space)
    with pytest.raises(InputError, match="at most 32 numbers; got 100"):
        ActFunction("x", spaces.Box(0, 1, (10, 10)))


def test_observations_as_text() -> None:
    space = spaces.Dict(
        {
            "where": spaces.Box(-1, 1, (2,), np.float32),
            "word": spaces.Text(5),
            "hand": spaces.Tuple((spaces.Discrete(3), spaces.MultiBinary(2))),
        }
    )
    value = {"where": np.array([-0.00001, 0.12345]), "word": "hi", "hand": (2, np.array([0, 1]))}
    assert is_readable(space)
    assert sorted(written(space, value).splitlines()) == ["hand: 2; 0, 1", "where: 0, 0.123", "word: hi"]
    assert not is_readable(spaces.Box(0, 255, (8, 8, 3), np.uint8))
    assert not is_readable(spaces.Sequence(spaces.Discrete(2)))


def test_what_is_no_json_is_left_out() -> None:
    value = {"a": np.int64(1), 2: (np.float32(0.5), float("nan")), "big": np.zeros(99), "thing": object(), "n": {}}
    assert plain(value) == {"a": 1, "2": [0.5, None], "n": {}}


# ---- what cannot be


@pytest.mark.parametrize(
    ("id", "options", "said"),
    [
        ("CartPol-v1", {}, "Did you mean"),
        ("Taxi-v3", {"render_mode": None}, "deprecated"),
        ("no.such.module:Grid-v0", {}, "No module named 'no'"),
        (GRID, {"sise": 3}, "unexpected keyword argument 'sise'"),
        (GRID, {"size": 0}, r"option size must be a number of pixels, or \[width, height\]; got 0"),
        (GRID, {"size": [3]}, "option size"),
        (GRID, {"size": True}, "option size"),
        (GRID, {"text": 1}, "option text must be true or false; got 1"),
        (GRID, {"action_names": "up"}, "option action_names must be different names"),
        (GRID, {"action_names": ["up", "up", "down", "left"]}, "option action_names"),
        (GRID, {"action_names": ["up"]}, "must name the actions of"),
        (GRID, {"success_return": float("nan")}, "option success_return must be a finite number"),
        (GRID, {"instruction": 3}, "option instruction must be a text"),
        (GRID, {"render_mode": None, "text": False}, "must have a rendering as rgb_array, or small observations"),
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
    environment = GymnasiumEnvironment("CartPole-v1")
    with pytest.raises(InputError, match=r"must have pygame to draw; .*tars_jax\[gymnasium\]"):
        environment.reset(task())


@pytest.mark.skipif(not DRAWS, reason="pygame draws it: pip install 'tars_jax[gymnasium]'")
def test_a_cart_that_is_drawn() -> None:
    first, (turn,) = play(GymnasiumEnvironment("CartPole-v1", size=[96, 64]), [act(1)])
    assert first.pixels is not None and first.pixels.shape == (64, 96, 3)
    assert turn.observation.screenshot != first.screenshot


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
