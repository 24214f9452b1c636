"""Environments that come with gymnasium, played through the registry as a policy would: by what it reads and writes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces


def play(id: str, move: Callable[[str], str], **options: Any) -> tuple[list[str], float, bool | None, bool]:
    """Texts that were seen, the return, the verdict at the end and whether the step limit ended it."""
    env = gymnasium.make("tars_jax.envs:TarsJax/Environment-v0", name=f"gymnasium:{id}", options=options)
    seen, _ = env.reset(seed=4)
    texts, earned, over, truncated, info = [seen["text"]], 0.0, False, False, dict[str, Any]()
    while not (over or truncated):
        seen, reward, over, truncated, info = env.step(f"Action: act({move(texts[-1])})")
        texts, earned = [*texts, seen["text"]], earned + float(reward)
    env.close()
    return texts, earned, info["success"], truncated


def test_a_cart_is_balanced_by_what_is_written() -> None:
    def move(text: str) -> str:
        x, speed, angle, turn = map(float, text.split(", "))
        return f"action={int(angle + 0.4 * turn + 0.02 * x + 0.05 * speed > 0)}"

    texts, earned, success, truncated = play("CartPole-v1", move)
    assert (earned, success, truncated) == (500, True, True)
    assert {len(part) for text in texts for part in text.split(", ")} <= {6, 7}  # +0.035 and +0.0314


def test_a_frozen_lake_is_crossed() -> None:
    steps = iter("112212")
    texts, earned, success, truncated = play("FrozenLake-v1", lambda text: f"action={next(steps)}", is_slippery=False)
    assert texts == ["00", "04", "08", "09", "10", "14", "15"] and (earned, success, truncated) == (1, True, False)


def test_a_taxi_that_stands_is_no_success() -> None:
    texts, earned, success, truncated = play("Taxi-v4", lambda text: "action=4", max_episode_steps=3)
    assert len(set(texts)) == 1 and len(texts[0]) == 3 and (success, truncated) == (False, True) and earned < 0


def test_a_car_climbs_out_of_its_valley() -> None:
    def move(text: str) -> str:
        return f"action=[{0.8 if float(text.split(', ')[1]) >= 0 else -0.8}]"  # full power ends below 90

    _, earned, success, truncated = play("MountainCarContinuous-v0", move)
    assert earned > 90 and success and not truncated


def test_a_hand_of_blackjack_is_a_tuple() -> None:
    texts, _, success, _ = play("Blackjack-v1", lambda text: f"action={int(int(text.split('; ')[0]) < 17)}")
    assert all(len(text) == len("14; 10; 0") for text in texts) and success is None


class Crane(gymnasium.Env[Any, Any]):
    """Lifts as far as its dictionary of an action says, and tells itself when it is done."""

    observation_space = spaces.Dict({"height": spaces.Box(0, 9, (1,)), "note": spaces.Text(8)})
    action_space = spaces.Dict(
        {"up": spaces.Box(0, 3, (1,)), "note": spaces.Text(8, min_length=0), "how": spaces.MultiBinary(2)}
    )
    height, note = 0.0, "start"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.height, self.note = 0.0, "start"
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.height, self.note = self.height + float(action["up"][0]) * action["how"].sum(), action["note"]
        return self._seen(), 0.0, self.height > 8, False, {"is_success": self.height > 8}

    def _seen(self) -> Any:
        return {"height": np.array([self.height], np.float32), "note": self.note}


gymnasium.register("Crane-v0", entry_point=f"{__name__}:Crane", max_episode_steps=9)


def test_a_dictionary_of_an_action_is_the_calls_arguments() -> None:
    texts, earned, success, truncated = play(f"{__name__}:Crane-v0", lambda text: "up=[2.25], note='go', how=[1, 1]")
    assert texts[:2] == ["height: 0.000\nnote: start", "height: 4.500\nnote: go"]
    assert (len(texts), earned, success, truncated) == (3, 0, True, False)


@pytest.mark.skipif(importlib.util.find_spec("pygame") is None, reason="pip install 'tars_jax[gymnasium]'")
def test_frames_in_their_own_shape() -> None:
    env = gymnasium.make(
        "tars_jax.envs:TarsJax/Environment-v0", name="gymnasium:CartPole-v1", options={"render_mode": "rgb_array"}
    )
    first, _ = env.reset(seed=0)
    for _ in range(4):
        second, *_ = env.step("Action: act(action=1)")
    assert first["screenshot"].shape == (400, 600, 3) and not np.array_equal(first["screenshot"], second["screenshot"])
    env.close()
