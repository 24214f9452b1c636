"""What a task of files calls deleted is nowhere in the computer, wherever it was put and by whatever name."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from tars_jax.agent.actions import Action, ToolCall
from tars_jax.environment import Task
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.gvisor import runsc_program
from tests import ordinary_user

pytestmark = pytest.mark.multiprocess
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
needs_gvisor = pytest.mark.skipif(runsc_program() is None, reason="needs runsc (sudo ./launch/gvisor.sh)")

# Of one episode, one after the other; NAME is the file that is to be deleted. None is what was asked for.
AWAY = (
    "mv NAME /tmp/", "mv /tmp/NAME /tmp/.other", "mkdir -p /tmp/a/b; mv /tmp/.other /tmp/a/b/z; chmod 000 /tmp/a",
    "chmod 700 /tmp/a; mv /tmp/a/b/z /run/agent/z", "mv /run/agent/z /dev/shm/NAME", "mv /dev/shm/NAME /var/tmp/NAME",
    "chmod 000 /var/tmp/NAME", "chmod 600 /var/tmp/NAME; mkdir ~/.d; mv /var/tmp/NAME ~/.d/; chmod 000 ~/.d",
    "chmod 700 ~/.d; mv ~/.d/NAME ~; rmdir ~/.d; chmod 000 NAME",
    "chmod 644 NAME; (while :; do mv NAME /tmp/y; mv /tmp/y NAME; done) >/dev/null 2>&1 & sleep .1",
    "kill %1; sleep .1; [ -e /tmp/y ] || mv NAME /tmp/y",
)  # fmt: skip


def bash(command: str) -> list[Action]:
    return [ToolCall("execute_bash", {"command": command})]


async def tried(task: str, commands: tuple[str, ...], last: str, **options: object) -> list[str]:
    """What was wrong behind each command; the last one did it if that ends with ''."""
    environment = ComputerEnvironment(task=task, **options)  # type: ignore[arg-type]
    try:
        await environment.reset(Task("one", "computer", 1, {}, 40))
        assert environment._episode is not None
        (name, *_) = environment._episode.level.scene.deletes
        wrong = []
        for command in (*commands, last):
            turn = await environment.step(bash(command.replace("NAME", name)))
            wrong.append(turn.observation.info["wrong"])
            assert turn.success == (not wrong[-1])
            if turn.terminated:
                break
        return wrong
    finally:
        await environment.close()


def check(wrong: list[str], commands: tuple[str, ...]) -> None:
    assert len(wrong) == len(commands) + 1 and wrong[-1] == "", wrong
    assert all(wrong[:-1]), wrong


@needs_root
@pytest.mark.parametrize("place", ["near", "far"], indirect=True)
def test_a_file_that_was_only_moved_away_is_not_deleted(place: EnvironmentResources) -> None:
    wrong = asyncio.run(tried("delete_in_files", AWAY, "rm /tmp/y", interface="sdk", resources=place))
    check(wrong, AWAY)
    assert wrong[1] == "what was to be deleted is in /tmp/.other", wrong


@needs_root
@needs_gvisor
@pytest.mark.slow
def test_nor_is_it_in_gvisor() -> None:
    ways = AWAY[:8]
    last = "chmod 700 ~/.d; rm -r ~/.d"
    check(asyncio.run(tried("delete_in_files", ways, last, interface="sdk", isolation="gvisor")), ways)


@needs_root
@pytest.mark.parametrize(
    ("task", "commands", "last"),
    [
        ("delete_empty", ("mkdir /tmp/e; find . -type f -empty -exec mv {} /tmp/e/ \\;",), "rm -r /tmp/e"),
        (
            "remove_copies",
            ("md5sum *.txt | sort -k 2 | awk 'seen[$1]++ { print $2 }' | xargs -I F mv F /dev/shm/",),
            "rm /dev/shm/*.txt",
        ),
    ],
)
def test_nor_are_several(task: str, commands: tuple[str, ...], last: str) -> None:
    check(asyncio.run(tried(task, commands, last)), commands)


@needs_root
@pytest.mark.parametrize("interface", ["sdk", pytest.param("both", marks=pytest.mark.full)])
def test_the_trash_of_a_desktop_is_deleted(interface: str) -> None:
    """And nothing else of the folders that applications have for themselves."""
    ways = ("mkdir -p ~/.local/share/Trash/files ~/.cache; mv NAME ~/.cache/",)
    last = "mv ~/.cache/NAME ~/.local/share/Trash/files/"
    check(asyncio.run(tried("delete_in_files", ways, last, interface=interface)), ways)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="starts a process of another user")
def test_nor_is_it_where_an_ordinary_user_has_the_computers() -> None:
    with ordinary_user.own_folder() as folder:
        process = ordinary_user.start(["-m", "tests.envs.test_computer_deleted"], TMPDIR=str(folder))
        said, _ = process.communicate(timeout=120)
    check(json.loads(said.splitlines()[-1]), AWAY)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(tried("delete_in_files", AWAY, "rm /tmp/y", interface="sdk"))))
