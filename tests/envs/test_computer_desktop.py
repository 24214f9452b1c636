"""Tasks with a screen: done by the reference player with mouse, keyboard and functions, and by no short cut."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from tars_jax import InputError
from tars_jax.agent.functions import tool_call
from tars_jax.environment import ActionSpace, Task
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.computer.catalog import EITHER_WAY, NEEDS, TASKS, tasks_for
from tars_jax.tasks.computer.steps import Gui
from tests.envs.computer_player import Call, play

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
WITH_DESKTOP = [name for name in TASKS if "desktop" in NEEDS[name]]
SAMPLE = ("save_copy", "note_process", "download_and_sum")


def require(name: str) -> None:
    pytest.importorskip("Xlib", reason="python-xlib is not installed")
    programs = ("Xvfb", "openbox", "xterm", "mousepad", "pcmanfm", "galculator")
    for program in (*programs, *(("chromium",) if "browser" in NEEDS[name] else ())):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: launch/desktop.sh installs it")


@pytest.mark.parametrize("place", ["near", "far"], indirect=True)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.full) for name in WITH_DESKTOP]
)
@pytest.mark.first(2)
def test_the_reference_player_does_it(name: str, place: EnvironmentResources) -> None:
    require(name)
    turn, seen = asyncio.run(play(name, resources=place))
    assert turn.success and turn.reward == 1, (seen.info["wrong"], seen.text, seen.info["state"]["windows"])
    assert seen.pixels is not None and seen.pixels.shape == (720, 1280, 3)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.full) for each in EITHER_WAY[1:]] + [EITHER_WAY[0]]
)
@pytest.mark.parametrize("interface", ["gui", "sdk", "both"])
@pytest.mark.first(2)
def test_files_are_moved_by_a_file_manager_or_a_shell(name: str, interface: str) -> None:
    require(name)
    turn, seen = asyncio.run(play(name, interface=interface))
    assert turn.success and turn.reward == 1, (seen.info["wrong"], seen.text)
    assert (seen.pixels is None) == (interface == "sdk")


@pytest.mark.parametrize("place", ["near", pytest.param("far", marks=pytest.mark.full)], indirect=True)
def test_a_file_is_moved_by_dragging_it_onto_a_folder(place: EnvironmentResources) -> None:
    """It is moved and not copied, as folder and file are of one device."""
    require("move_in_files")
    level = ComputerEnvironment(task="move_in_files", interface="gui").draw(1)
    files = sorted(level.scene.files)
    name = next(each for each in files if each in level.scene.instruction)
    places = [(round((526 + 94 * number) / 1.28), round(223 / 0.72)) for number in range(1 + len(files))]
    drag = ("drag", {"start_point": places[1 + files.index(name)], "end_point": places[0]})
    turn, seen = asyncio.run(
        play("move_in_files", [drag, LATER, LATER], level=1, seed=1, interface="gui", resources=place)
    )
    assert turn.success, seen.info["wrong"]


@pytest.mark.full
def test_a_file_is_deleted_to_the_trash_of_the_file_manager() -> None:
    require("delete_in_files")
    level = ComputerEnvironment(task="delete_in_files", interface="gui").draw(1)
    first = level.scene.deletes[0].partition(".")[0]
    calls: list[Call] = [
        ("type", {"content": first}), ("hotkey", {"key": "escape"}), ("hotkey", {"key": "delete"}), LATER,
        ("hotkey", {"key": "enter"}), LATER, LATER,
    ]  # fmt: skip
    turn, seen = asyncio.run(play("delete_in_files", calls, level=1, seed=1, interface="gui"))
    assert turn.success, seen.info["wrong"]


def test_an_interface_to_files_is_the_same_task_with_another_action_space() -> None:
    made = {each: ComputerEnvironment(interface=each) for each in ("gui", "sdk", "both")}
    levels = [{made[each].draw(seed).scene.instruction for each in made} for seed in range(8)]
    assert all(len(each) == 1 for each in levels) and len(set.union(*levels)) == 8
    assert {made["gui"].draw(seed).name for seed in range(40)} == {*EITHER_WAY}
    kinds = [{type(step) for step in made["both"].draw(seed).scene.solution} for seed in range(40)]
    assert {str} in kinds and {Gui} in kinds
    spaces = {each: made[each].action_space for each in made}
    assert spaces["sdk"].platform == "tools" and spaces["sdk"].actions == ("finished",)
    assert spaces["both"] == ActionSpace("computer", spaces["gui"].actions, spaces["sdk"].functions)
    assert len({ComputerEnvironment.max_steps({"interface": each}) for each in made}) == 1
    for options, said in (
        ({"interface": "shell"}, "interface must be one of gui, sdk, both; got 'shell'"),
        (
            {"interface": "sdk", "task": "calculate"},
            "task must be one of rename_in_files, .* with an interface; got 'calc",
        ),
        ({"interface": "sdk", "parts": ("shell",)}, "parts must be left out where interface says them; got shell"),
    ):
        with pytest.raises(InputError, match=said):
            ComputerEnvironment(**options)


def bash(command: str) -> Call:
    return "execute_bash", {"command": command}


FINISH: Call = ("finished", {"content": ""})
LATER: Call = ("wait", {"time": 1.0})
QUIET = ">/dev/null 2>&1 &"


@pytest.mark.parametrize("place", ["near", "far"], indirect=True)
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        # A window of another program with the title of the right one.
        ("show_sorted", [bash(f"sort list.txt > sorted.txt; xterm -T 'sorted.txt - Mousepad' {QUIET}"), LATER, FINISH]),
        # The text of the editor was never saved, and a shell does not see it.
        ("note_process", [bash("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -x -A1 sleep >> notes.txt"), FINISH]),
        # What the site has, without the browser.
        (
            "download_and_sum",
            [
                bash(
                    'mkdir -p Downloads; python3 -c "import urllib.request as u; '
                    "open('Downloads/s.csv', 'wb').write(u.urlopen('http://localhost:8000/s.csv').read())\"; "
                    "awk -F, '{ s += $2 } END { print s }' Downloads/s.csv > total.txt; cat total.txt"
                ),
                FINISH,
            ],
        ),
    ],
    ids=["window", "editor", "download"],
)
@pytest.mark.first(1)
def test_a_short_cut_does_not_do_it(name: str, calls: list[Call], place: EnvironmentResources) -> None:
    require(name)
    turn, seen = asyncio.run(play(name, calls, resources=place))
    assert turn.terminated and not turn.success and turn.reward == 0 and seen.info["wrong"]


def test_who_ends_the_screen_has_lost_the_episode(place: EnvironmentResources) -> None:
    """It is no failure of the machinery, which would be played again."""
    require("note_process")
    turn, seen = asyncio.run(play("note_process", [bash("kill -9 $(pgrep Xvfb)"), FINISH], resources=place))
    assert turn.terminated and turn.reward == 0 and turn.success is False
    assert seen.info["wrong"] == "the computer was broken inside: the X server was ended inside, by signal 9"


@pytest.mark.full
@pytest.mark.parametrize("name", WITH_DESKTOP)
def test_nothing_does_not_do_it(name: str) -> None:
    require(name)
    turn, _ = asyncio.run(play(name, [LATER, FINISH]))
    assert turn.terminated and not turn.success


def test_there_are_forty_and_ten_need_both() -> None:
    assert len(TASKS) >= 40
    assert sum({"shell", "desktop"} <= {*parts} for parts in NEEDS.values()) >= 10
    assert {"add_line", "note_process"} <= {*tasks_for(("shell", "desktop"))} - {*tasks_for(("shell",))}
    space = ComputerEnvironment(task="note_process").action_space
    assert space.platform == "computer" and "click" in space.actions and space.function("execute_bash")
    assert not ComputerEnvironment(task="add_line").action_space.functions


def test_a_desktop_is_seen_as_it_changes_by_itself() -> None:
    require("note_process")

    async def watch() -> bool:
        environment = ComputerEnvironment(task="note_process")
        try:
            first = await environment.reset(Task("t", "computer", 1, {"task": "note_process"}, 8))
            bash = next(each for each in environment.action_space.functions if "bash" in each.name)
            await environment.step([tool_call(bash, {"command": "(sleep 1; mousepad) >/dev/null 2>&1 &"})])
            for _ in range(60):
                seen = await environment.look()
                assert seen is not None and seen.pixels is not None and seen.pixels.shape == (720, 1280, 3)
                if seen.screenshot != first.screenshot:
                    return True
                await asyncio.sleep(0.5)
            return False
        finally:
            await environment.close()

    assert asyncio.run(watch())
