"""Tasks of a browser without a desktop: a page upon the computer, on its virtual clock."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Click, Navigate, Point, ToolCall
from tars_jax.environment import Task
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.computer.catalog import WITHOUT_DESKTOP
from tests.envs.computer_player import Call, play

pytestmark = [
    pytest.mark.browser,
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
PAGE: dict[str, Any] = {"parts": ["shell", "browser"], "size": [640, 480]}
FINISH: Call = ("finished", {"content": ""})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "merge_downloads" else pytest.mark.full)
        for name in sorted(WITHOUT_DESKTOP)
    ],
)
def test_the_reference_player_does_it(name: str, place: EnvironmentResources) -> None:
    turn, seen = asyncio.run(play(name, **PAGE, resources=place))
    assert turn.success and turn.reward == 1, (seen.info["wrong"], seen.text, seen.info["state"]["windows"])
    assert seen.pixels is not None and seen.pixels.shape == (480, 640, 3)


def test_what_a_shell_fetches_was_not_downloaded_by_the_browser() -> None:
    fetch = (
        'mkdir -p Downloads; python3 -c "import urllib.request as u; '
        "open('Downloads/s.csv', 'wb').write(u.urlopen('http://localhost:8000/s.csv').read())\"; "
        "awk -F, '{ s += $2 } END { print s }' Downloads/s.csv > total.txt"
    )
    turn, seen = asyncio.run(play("download_and_sum", [("execute_bash", {"command": fetch}), FINISH], **PAGE))
    assert turn.terminated and not turn.success and "has not asked" in seen.info["wrong"]


def test_near_and_far_show_the_same_pixels_and_a_dialog_takes_files_of_the_computer(far: EnvironmentResources) -> None:
    page = "<title>Send</title><form method=post><input type=file name=f style='font-size:40px'></form>"

    async def shown(place: EnvironmentResources) -> list[bytes]:
        environment = ComputerEnvironment("submit_count", **PAGE, resources=place)
        seen = [(await environment.reset(Task("one", "computer", 4, {}, 40))).screenshot]
        serve = f'echo "{page}" > index.html; python3 -m http.server 3000 >/dev/null 2>&1 & sleep 1'
        await environment.step([ToolCall("execute_bash", {"command": serve})])
        turn = await environment.step([Navigate("http://localhost:3000/")])
        assert "cannot" not in turn.observation.text
        turn = await environment.step([Click(Point(100, 60))])
        assert "asks for a file" in turn.observation.text
        turn = await environment.step([ToolCall("choose_files", {"paths": ["no such.txt"]})])
        assert "no such.txt" in turn.observation.text and "asks for a file" in turn.observation.text
        turn = await environment.step([ToolCall("choose_files", {"paths": ["list.txt"]})])
        assert not turn.observation.text
        seen.append(turn.observation.screenshot)
        turn = await environment.step([Navigate("https://example.com/")])
        assert "one of this computer" in turn.observation.text
        await environment.close()
        return seen

    one, other = asyncio.run(shown(EnvironmentResources())), asyncio.run(shown(far))
    assert one == other and len({*one}) == 2


def test_what_such_a_computer_cannot_do_is_said() -> None:
    with pytest.raises(InputError, match="must have desktop for the task show_page"):
        ComputerEnvironment("show_page", **PAGE)
    with pytest.raises(InputError, match="must have shell for the task submit_count"):
        ComputerEnvironment("submit_count", parts=["browser"])
