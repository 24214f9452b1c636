"""Environments of ours in gymnasium's vectors and wrappers."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import NormalizeReward, RecordEpisodeStatistics, TimeLimit

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.envs.text_space import MOST_BYTES, AnyText, SharedTexts

NAME = "tests.envs.test_gymnasium_vectors:Speaks"
FIRST = "Ночь. \U0001f319\n"


class Speaks:
    """Says back what it is told, in any script, and is over after two turns."""

    action_space = ActionSpace(
        "tools",
        functions=(Function("say", parameters={"type": "object", "properties": {"text": {"type": "string"}}}),),
    )
    instruction = "Speak."

    def __init__(self) -> None:
        self.turns = 0

    def reset(self, task: Task) -> Observation:
        self.turns = 0
        return Observation(text=FIRST, info={"state": {"turn": 0, "said": None if task.seed % 4 else 1}})

    def step(self, actions: Any) -> Transition:
        self.turns += 1
        text = str(actions[0].parameters.get("text", ""))
        text = "x" * MOST_BYTES + "y" if text == "long" else text
        state = {"state": {"turn": self.turns, "said": len(text) if text == "a" else None}}
        return Transition(Observation(text=text, info=state), 1.0, self.turns == 2, success=self.turns == 2)

    def close(self) -> None:
        pass


def vector(mode: str, autoreset: AutoresetMode, **kwargs: Any) -> Any:
    return gymnasium.make_vec(
        "TarsJax/Environment-v0", 2, vectorization_mode=mode, name=NAME,
        vector_kwargs={"autoreset_mode": autoreset, **kwargs},
    )  # fmt: skip


def say(*texts: str) -> tuple[str, ...]:
    return tuple(f"Action: say(text='{text}')" for text in texts)


MODES: list[Any] = [
    ("sync", AutoresetMode.NEXT_STEP, {}),
    ("sync", AutoresetMode.SAME_STEP, {}),
    pytest.param(
        "async", AutoresetMode.NEXT_STEP, {"context": "spawn"}, marks=[pytest.mark.multiprocess, pytest.mark.slow]
    ),
    *(
        pytest.param("async", mode, more, marks=pytest.mark.multiprocess)
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
        for more in ({}, {"shared_memory": False})
    ),
]


@pytest.mark.parametrize(("mode", "autoreset", "kwargs"), MODES)
def test_a_vector_says_what_each_environment_says(mode: str, autoreset: AutoresetMode, kwargs: dict[str, Any]) -> None:
    envs = vector(mode, autoreset, **kwargs)
    seen, infos = envs.reset(seed=3)
    assert seen["text"] == (FIRST, FIRST) and seen in envs.observation_space
    assert list(infos["task_seed"]) != [infos["task_seed"][0]] * 2 and list(infos["instruction"]) == ["Speak."] * 2
    first, *_ = envs.step(say("ä", "б"))
    second, rewards, terminated, truncated, infos = envs.step(say("one", "two"))
    assert first["text"] == ("ä", "б")  # a copy: what comes later does not change it
    assert list(rewards) == [1, 1] and list(terminated) == [True, True] and not any(truncated)
    if autoreset is AutoresetMode.SAME_STEP:
        assert second["text"] == (FIRST, FIRST)
        assert [each["text"] for each in infos["final_obs"]] == ["one", "two"]
        assert list(infos["final_info"]["success"]) == [True, True]
    else:
        assert second["text"] == ("one", "two") and list(infos["success"]) == [True, True]
        third, rewards, terminated, *_ = envs.step(say("a", "b"))
        assert third["text"] == (FIRST, FIRST) and not any(rewards) and not any(terminated)
    assert envs.step(envs.action_space.sample())[0] in envs.observation_space
    envs.close()


def test_states_of_a_vector_stay_whole_where_a_value_is_null_in_one() -> None:
    envs = vector("sync", AutoresetMode.NEXT_STEP)
    envs.reset(seed=3)
    *_, infos = envs.step(say("a", "b"))
    assert list(infos["state"]) == [{"turn": 1, "said": 1}, {"turn": 1, "said": None}]
    envs.close()


@pytest.mark.multiprocess
def test_only_some_of_a_vector_begin_anew() -> None:
    envs = vector("async", AutoresetMode.DISABLED)
    envs.reset(seed=3)
    envs.step(say("a", "b"))
    seen, _ = envs.reset(options={"reset_mask": np.array([True, False])})
    assert seen["text"] == (FIRST, "b")
    envs.close()


@pytest.mark.multiprocess
@pytest.mark.filterwarnings("ignore:.*ERROR")  # gymnasium prints the worker's traceback so
def test_a_text_that_has_no_room_in_shared_memory_is_said_so() -> None:
    envs = vector("async", AutoresetMode.NEXT_STEP)
    envs.reset()
    with pytest.raises(InputError, match=rf"{MOST_BYTES} bytes in shared memory; got {MOST_BYTES + 1}: make the"):
        envs.step(say("long", "short"))
    envs.close(terminate=True)
    without = vector("async", AutoresetMode.NEXT_STEP, shared_memory=False)
    without.reset()
    assert len(without.step(say("long", "short"))[0]["text"][0]) == MOST_BYTES + 1
    without.close()


def test_shared_texts_are_read_when_somebody_looks() -> None:
    space, shared = AnyText(), gymnasium.vector.utils
    memory = shared.create_shared_memory(space, n=3)
    texts = shared.read_from_shared_memory(space, memory, n=3)
    assert isinstance(texts, SharedTexts) and tuple(texts) == ("", "", "")
    for text in ("longer than the next", "ü"):
        shared.write_to_shared_memory(space, 1, text, memory)  # type: ignore[arg-type] # as gymnasium's own Text has it
    assert texts[1] == "ü" and texts[1:] == ("ü", "") and texts[-1] == "" and len(texts) == 3


def test_gymnasiums_wrappers() -> None:
    env = RecordEpisodeStatistics(NormalizeReward(TimeLimit(gymnasium.make("TarsJax/Environment-v0", name=NAME), 1)))
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(say("a")[0])
    assert float(reward) > 0 and (terminated, truncated) == (False, True)
    assert info["episode"]["l"] == 1
    env.close()


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
def test_a_vector_of_computers() -> None:
    envs = gymnasium.make_vec("TarsJax/Computer-v0", 2, vectorization_mode="async", options={"task": "find_word"})
    seen, infos = envs.reset(seed=0)
    assert all(seen["text"]) and all(infos["instruction"])
    seen, *_ = envs.step(tuple(f"Action: execute_bash(command='echo {name}.txt')" for name in ("a", "b")))
    assert seen["text"] == ("a.txt", "b.txt")
    envs.close()
