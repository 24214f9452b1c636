"""Tasks of a phone: done by the reference player's finger, and by no short cut."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.calls import action_from_call
from tars_jax.environment import Task, Transition
from tars_jax.envs.phone import PhoneEnvironment
from tars_jax.tasks.phone.catalog import TASKS, reference_player

pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("adb") is None, reason="adb is not installed"),
]
Call = tuple[str, dict[str, Any]]
FINISH: Call = ("finished", {"content": ""})


def task(seed: int) -> Task:
    return Task("one", "phone", seed, {}, 24)


async def play(name: str, calls: Sequence[Call] | None = None, level: int = 2, seed: int = 3) -> Transition:
    environment = PhoneEnvironment(name, level)
    try:
        seen = await environment.reset(task(seed))
        assert environment.instruction and seen.info["wrong"] and seen.pixels is not None
        assert seen.pixels.shape == (640, 360, 3)
        for number in range(environment.max_steps if calls is None else len(calls)):
            move = reference_player(seen.info["state"], random.Random(0))
            function, parameters = (move.function, move.parameters) if calls is None else calls[number]
            turn = await environment.step([action_from_call(function, parameters, space=environment.action_space)])
            seen = turn.observation
            if turn.terminated:
                break
        return turn
    finally:
        await environment.close()


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.first(3)
def test_the_reference_player_does_it(name: str) -> None:
    turn = asyncio.run(play(name))
    assert turn.success and turn.reward == 1, (turn.observation.info, turn.observation.text)


@pytest.mark.parametrize("name", TASKS)
def test_nothing_does_not_do_it(name: str) -> None:
    turn = asyncio.run(play(name, [("wait", {"time": 1.0}), FINISH]))
    assert turn.terminated and not turn.success and turn.observation.info["wrong"]


def test_one_switch_too_many_is_wrong() -> None:
    async def flip() -> None:
        environment = PhoneEnvironment("flip_switches", 1)
        seen = await environment.reset(task(0))
        await environment.step([action_from_call("open_app", {"app_name": "settings"}, space=environment.action_space)])
        wanted = environment._scene.solution[1][1]  # type: ignore[union-attr]
        places = environment._widgets()
        other = next(name for name in ("bluetooth_on", "wifi_on", "airplane_mode_on") if name != wanted)
        for name in (other, wanted):
            click = action_from_call("click", {"point": places[name]}, space=environment.action_space)
            turn = await environment.step([click])
            seen = turn.observation
        assert not turn.success and seen.info["wrong"]
        turn = await environment.step(
            [action_from_call("click", {"point": places[other]}, space=environment.action_space)]
        )
        assert turn.success
        await environment.close()

    asyncio.run(flip())


def test_two_at_once_and_the_same_seed_shows_the_same_bytes() -> None:
    async def both() -> None:
        environments = [PhoneEnvironment("write_note", 1, size=(180, 320)) for _ in range(2)]
        shown = await asyncio.gather(*(environment.reset(task(5)) for environment in environments))
        assert shown[0].screenshot == shown[1].screenshot
        turns = []
        for environment in environments:
            actions = [
                ("open_app", {"app_name": "Notes"}),
                ("type", {"content": "x"}),
                ("open_app", {"app_name": "none"}),
            ]
            turns.append(await environment.step(
                [action_from_call(*call, space=environment.action_space) for call in actions]))  # fmt: skip
        assert turns[0].observation.screenshot == turns[1].observation.screenshot
        assert "app_name must be an app of the phone" in turns[0].observation.text
        for environment in environments:
            await environment.close()
            await environment.close()  # twice is once

    asyncio.run(both())


def test_impossible_options_are_refused() -> None:
    with pytest.raises(InputError, match="task must be one of"):
        PhoneEnvironment("fly")
    with pytest.raises(InputError, match="level must be"):
        PhoneEnvironment(level=4)
    with pytest.raises(InputError, match="width and height"):
        PhoneEnvironment(size=(10, 10))
