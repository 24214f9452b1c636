"""Phones by their serials, through an ADB server: here stand-ins, which are asked as a device is and nothing else."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.calls import action_from_call
from tars_jax.environment import EnvironmentFailure, Observation, Task
from tars_jax.envs import phone as phone_environment
from tars_jax.envs import phone_devices
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.phone import PhoneEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.tasks.phone.catalog import DEVICE_TASKS, PhoneScene, reference_player

pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
from tars_jax.sandbox.phone import AdbServer
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.server import StandIn

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("adb") is None, reason="adb is not installed"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[AdbServer]:
    with AdbServer() as server:
        yield server


@pytest.fixture
def device(server: AdbServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """One that the user's own ADB server reaches."""
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
    monkeypatch.setattr(phone_devices, "PATIENCE_S", 0.5)
    with StandIn(StandInDevice(seed=3)) as phone:
        yield phone


def checked(*devices: StandIn, task: str = "add_contact", **options: Any) -> CheckedEnvironment:
    at = EnvironmentResources(sandbox=SandboxAddress(phones=tuple(each.serial for each in devices)))
    return CheckedEnvironment(lambda: PhoneEnvironment(task, resources=at, size=(180, 320), **options), 60)


def task(seed: int = 1) -> Task:
    return Task("one", "phone", seed, {}, 24)


def contacts(device: StandIn) -> list[Any]:
    return device.call(lambda here: here.find("com.android.contacts").rows(""))  # type: ignore[union-attr]


async def play(environment: CheckedEnvironment, device: StandIn, seen: Observation) -> Any:
    """By a finger that knows where things are, as the reference player is told by nobody here."""
    turn, scrolled = None, 0
    for _ in range(24):
        state = {**seen.info["state"], "widgets": device.call(phone_environment._places), "scrolled": scrolled}
        made = environment._environment
        assert isinstance(made, PhoneEnvironment) and isinstance(made._scene, PhoneScene)
        move = reference_player(state, random.Random(0))
        scrolled = scrolled + 1 if move.function == "scroll" else 0
        turn = await environment.step(
            [action_from_call(move.function, move.parameters, space=environment.action_space)]
        )
        if move.function != "scroll":
            made._done += move.function == "click"  # of a device the environment does not know widgets
        seen = turn.observation
        if turn.terminated:
            break
    return turn


@pytest.mark.parametrize("name", DEVICE_TASKS)
@pytest.mark.first(2)
def test_a_task_of_a_device_is_done_by_touch_and_judged_by_its_shell(device: StandIn, name: str) -> None:
    async def live() -> None:
        environment = checked(device, task=name, packages=())
        seen = await environment.reset(task())
        assert seen.pixels is not None and seen.pixels.shape == (320, 180, 3)
        turn = await play(environment, device, seen)
        assert turn.success and turn.reward == 1, (name, turn.observation)
        await environment.close()

    asyncio.run(live())


def test_an_episode_begins_without_what_the_one_before_has_left(device: StandIn) -> None:
    async def live() -> None:
        environment = checked(device)
        first = contacts(device)
        seen = await environment.reset(task())
        assert (await play(environment, device, seen)).success and len(contacts(device)) == len(first) + 1
        device.call(lambda here: here.press("SLEEP"))
        await environment.reset(task(2))
        assert contacts(device) == first and device.call(lambda here: here.awake and here.shows_home)
        await environment.close()

    asyncio.run(live())


def test_a_device_is_one_episodes_alone_and_one_that_goes_away_is_passed_over(device: StandIn) -> None:
    async def live() -> None:
        mortal = StandIn(StandInDevice(seed=4))
        one, two = checked(mortal, device), checked(mortal, device)
        await one.reset(task())
        await two.reset(task())
        three = checked(mortal, device)
        with pytest.raises(EnvironmentFailure, match="no phone was free for 0.5 s") as failed:
            await three.reset(task())
        assert failed.value.kind == "held"
        await two.close()
        mortal.close()
        wait = [action_from_call("wait", {"time": 0.1}, space=one.action_space)]
        with pytest.raises(EnvironmentFailure) as failed:
            await one.step(wait)
        assert failed.value.kind == "offline", failed.value
        await one.reset(task())  # on the other
        assert not (await one.step(wait)).success
        await one.close()

    asyncio.run(live())


def test_a_phone_that_cannot_be_played_on_says_why(device: StandIn) -> None:
    device.call(lambda here: setattr(here, "locked", True))
    with pytest.raises(EnvironmentFailure, match=f"{device.serial} must be unlocked") as failed:
        asyncio.run(checked(device).reset(task()))
    assert failed.value.kind == "locked"
    device.call(lambda here: setattr(here, "locked", False))
    device.call(lambda here: here.properties.update({"persist.sys.locale": "de-DE"}))
    with pytest.raises(InputError, match=f"sandbox.phones must be in English.*{device.serial} is in de-DE"):
        asyncio.run(checked(device).reset(task()))
    device.call(lambda here: here.properties.update({"persist.sys.locale": "en-GB"}))
    device.call(lambda here: here.find("com.android.contacts")._contacts.clear())  # type: ignore[union-attr]
    for options, words in (
        ({"task": "write_note"}, "task must be one of flip_switches, .* with sandbox.phones"),
        ({"task": "look_up_number", "packages": ()}, "task must be one that needs no contacts, as the phone has none"),
    ):
        with pytest.raises(InputError, match=words):
            asyncio.run(checked(device, **options).reset(task()))
    away = EnvironmentResources(sandbox=SandboxAddress(phones=("no-such-serial",)))
    with pytest.raises(InputError, match="sandbox.phones must be devices that adb knows; got no-such-serial: no_dev"):
        asyncio.run(CheckedEnvironment(lambda: PhoneEnvironment(resources=away), 60).reset(task()))
