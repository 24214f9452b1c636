"""Tasks in a real computer: done by commands alone, judged by what lies there, and no two see each other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Action, Finished, ToolCall
from tars_jax.environment import Task
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.registry import load_environment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.gvisor import runsc_program
from tars_jax.tasks.computer.catalog import NEEDS, TASKS, draw_level, reference_player
from tests.envs.computer_player import play

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]


def task(seed: int, **options: Any) -> Task:
    return Task("one", "computer", seed, options, 8)


def bash(command: str) -> list[Action]:
    return [ToolCall("execute_bash", {"command": command})]


def test_a_group_begins_from_copies_of_one_prepared_computer(place: EnvironmentResources) -> None:
    async def live() -> None:
        alone = ComputerEnvironment(task="find_word", resources=place)
        members = [ComputerEnvironment(task="find_word", resources=place) for _ in range(4)]
        first = await alone.reset(task(3))
        begun = await asyncio.gather(*(member.reset_in_group(task(3), 4) for member in members))
        assert [each.text for each in begun] == [first.text] * 4
        shared = {id(each._computers): each._computers for each in (alone, *members)}
        assert len(shared) == 1 and next(iter(shared.values())).groups.prepared == 1  # type: ignore[union-attr]
        for number, member in enumerate(members):
            await member.step(bash(f"echo {number} > own; touch own-{number}"))
        said = [(await member.step(bash("cat own; ls -1 own*"))).observation.text for member in members]
        assert said == [f"{number}\nown\nown-{number}" for number in range(4)]
        await members[0].reset_in_group(task(3), 4)  # the group is full: a new one
        assert next(iter(shared.values())).groups.prepared == 2  # type: ignore[union-attr]
        await asyncio.gather(*(member.close() for member in (alone, *members)))
        again = ComputerEnvironment(task="find_word", resources=place)  # the last one has ended what they shared
        assert (await again.reset(task(3))).text == first.text
        await again.close()

    asyncio.run(live())


SOME = ("find_word", "count_lines", "run_script", "end_process")
OTHERS = [name for name in TASKS if NEEDS[name] == ("shell",) and name not in SOME]


@pytest.mark.parametrize("names", [SOME, pytest.param(OTHERS, marks=pytest.mark.full)], ids=["some", "all"])
def test_the_reference_player_does_every_task(names: Sequence[str], place: EnvironmentResources) -> None:
    for name in names:
        played, seen = asyncio.run(play(name, resources=place))
        assert played.terminated and played.success and played.reward == 1, (name, seen)


@pytest.mark.slow
@pytest.mark.skipif(runsc_program() is None, reason="needs runsc (sudo ./launch/gvisor.sh)")
@pytest.mark.parametrize("name", ["run_script", "end_process"])
@pytest.mark.full
def test_the_reference_player_does_a_task_in_gvisor(name: str) -> None:
    played, seen = asyncio.run(play(name, isolation="gvisor"))
    assert played.terminated and played.success and played.reward == 1, seen


def test_an_episode_is_its_own(place: EnvironmentResources) -> None:
    async def live() -> None:
        one, two = (ComputerEnvironment(task="move_file", resources=place) for _ in range(2))
        try:
            first, again = await one.reset(task(5)), await two.reset(task(5))
            assert first.text == again.text and first.info == again.info
            turn = await one.step(bash("X=7; cd /tmp; touch mine; ls /home/agent | wc -l"))
            assert not turn.success and not turn.terminated
            turn = await one.step(bash("echo $X; pwd"))
            assert turn.observation.text.splitlines()[:2] == ["7", "/tmp"]
            turn = await two.step(bash("ls /tmp; echo $X"))
            assert "mine" not in turn.observation.text and "7" not in turn.observation.text
            turn = await one.step([Finished("done")])
            assert turn.terminated and not turn.success and turn.reward == 0
            await one.reset(task(6))
            turn = await one.step(bash("ls /tmp; echo $X"))
            assert "mine" not in turn.observation.text and "7" not in turn.observation.text
            turn = await two.step(bash("exit 3"))
            turn = await two.step(bash("false; no_such_program"))
            assert "no_such_program" in turn.observation.text
        finally:
            await one.close()
            await two.close()
            await two.close()

    asyncio.run(live())


@pytest.mark.parametrize("place", ["near", "far"], indirect=True)
@pytest.mark.parametrize(
    "command",
    [
        "head -c 40M /dev/zero > huge",
        "for i in $(seq 3000); do : > f$i; done",
        "rm -rf ~/* ~/.* 2>/dev/null; kill -9 -1",
        "mkdir other; mount --bind other .; ln -s / root",
    ],
)
@pytest.mark.first(2)
def test_what_is_not_the_task_is_no_success(command: str, place: EnvironmentResources) -> None:
    async def live() -> None:
        environment = ComputerEnvironment(task="count_lines", resources=place)
        try:
            await environment.reset(task(1))
            turn = await environment.step(bash(command))
            assert not turn.success and turn.reward == 0
            assert (await environment.step([Finished("0")])).reward == 0
        finally:
            await environment.close()

    asyncio.run(live())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "fly"}, "task must be one of move_file"),
        ({"level": 9}, "level must be a whole number from 1 to 3; got 9"),
        ({"parts": ["fly"]}, "parts must be of shell, desktop, .*; got 'fly'"),
        ({"task": "add_line", "parts": ["shell"]}, "parts must have desktop for the task add_line; got shell"),
        ({"tools": ["fly"]}, "tools must be of execute_bash"),
        ({"isolation": "magic"}, "isolation must be auto"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        asyncio.run(ComputerEnvironment(**options).reset(task(0)))


def test_it_is_an_environment_by_its_name() -> None:
    spec = load_environment("computer", {"task": "find_word", "level": 2})
    assert spec.default_max_steps({}) == 8 and spec.reference is reference_player
    assert draw_level("", 1, 4).name in TASKS
    with pytest.raises(
        InputError, match="an option must be one of task, level, tools, isolation, mcp, images, parts, size"
    ):
        load_environment("computer", {"color": "red"})
