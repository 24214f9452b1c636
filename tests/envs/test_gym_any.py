"""Any environment of the registry, as gymnasium knows it."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tars_jax.envs
from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.registry import EnvironmentSpec, load_environment, register_environment

ECHO, VAULT = "tars_jax.envs.examples.text_echo:TextEcho", "tars_jax.envs.examples.functions_vault:Vault"
GRID = "gymnasium:tars_jax.envs.examples.grid_gymnasium:Grid-v0"


def make(name: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("TarsJax/Environment-v0", name=name, **kwargs).unwrapped


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        (ECHO, {}, ["text"]),
        (ECHO, {"typed": True}, ["text"]),
        (VAULT, {}, ["screenshot", "text"]),
        (GRID, {"text": True}, ["screenshot", "text"]),
        pytest.param("maze_path_of_light", {"level": 1}, ["screenshot", "text"], marks=pytest.mark.browser),
    ],
)
@pytest.mark.first(2)
def test_gymnasiums_own_checker(name: str, options: dict[str, Any], parts: list[str]) -> None:
    env = make(name, options=options, render_mode="rgb_array" if "screenshot" in parts else None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    assert isinstance(env.observation_space, gymnasium.spaces.Dict) and sorted(env.observation_space) == parts
    env.close()
    env.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "tars_jax browsers"]


def test_texts_go_in_and_out_and_a_seed_fixes_the_task() -> None:
    env = make(ECHO)
    first, info = env.reset(seed=5)
    assert first == env.reset(seed=5)[0] and info["instruction"] == "Say the word." and info["task_seed"] % 2 == 0
    refused, reward, terminated, truncated, _ = env.step("Action: fly()")
    assert "a function must be one of say; got 'fly'" in refused["text"] and (reward, terminated, truncated) == (
        0,
        False,
        False,
    )
    word = first["text"].removeprefix("word: ")
    second, reward, *_ = env.step(f"Action: say(word='{word}')")
    assert reward == 1
    word = second["text"].removeprefix("word: ")
    _, reward, terminated, _, info = env.step(f"Action: say(word='{word}')")
    assert (reward, terminated, info["success"]) == (1, True, True)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("Action: say(word='red')")
    once, _ = env.reset(seed=5, options={"rounds": 1})
    assert env.step(f"Action: say(word='{once['text'].removeprefix('word: ')}')")[2]
    env.close()


def test_an_episode_is_truncated_at_its_budget() -> None:
    env = make(ECHO, max_steps=2)
    env.reset(seed=1)
    ends = [env.step("Action: fly()")[2:4] for _ in range(2)]
    assert ends == [(False, False), (False, True)]
    env.close()


def test_what_is_registered_has_an_id_of_its_own() -> None:
    spec = load_environment(ECHO, {})
    register_environment(EnvironmentSpec("mine/echo", spec.make))
    env = gymnasium.make("TarsJax/mine-echo-v0")
    assert env.reset(seed=0)[0]["text"].startswith("word: ")
    env.close()


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(InputError, match="max_steps must be 1 or more; got 0"):
        make(ECHO, max_steps=0)
    with pytest.raises(InputError, match="an option must be one of rounds, typed; got 'round'"):
        make(ECHO, options={"round": 1})
    with pytest.raises(EnvironmentFailure, match="gone"):
        make("tests.envs.test_gym_any:Gone")
    env = make(VAULT)
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"action must be text, such as .Action: "):
        env.step(np.zeros(2))
    env.close()
    assert tars_jax.envs.RegisteredEnv is type(env)


class Gone:
    """Never begins."""

    instruction = ""
    action_space = load_environment(ECHO, {}).make(tars_jax.envs.registry.EnvironmentResources()).action_space

    def reset(self, task: Any) -> Any:
        raise OSError("gone")

    def step(self, actions: Any) -> Any: ...

    def close(self) -> None: ...
