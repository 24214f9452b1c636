"""WindowsAgentArena's tasks, played on the guest file on Linux and on a server in its own server's place."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tars_jax import InputError
from tars_jax.agent.actions import CallUser, Click, Finished, Point, ToolCall, Type
from tars_jax.environment import EnvironmentFailure, Transition
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.envs.benchmarks.windows_machines import WindowsGuest, play_all
from tests.tasks.benchmarks.waa_files import USER, write_checkout, write_wheel

pytestmark = pytest.mark.multiprocess
PLUMS = ToolCall("execute_bash", {"command": "mkdir -p Desktop; echo plums > Desktop/note.txt"})


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WindowsGuest]:
    made = WindowsGuest(tmp_path_factory.mktemp("guest"))
    yield made
    made.end()


@pytest.fixture(autouse=True)
def scorers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This Python in the place of the scorers' own: what our few getters import is there."""
    python = tmp_path / "scorers" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("TARS_JAX_OSWORLD", str(tmp_path / "scorers"))


def reward(turn: Transition | Exception) -> float:
    assert isinstance(turn, Transition), turn
    return turn.reward


def kind(failure: Transition | Exception) -> str:
    assert isinstance(failure, EnvironmentFailure), failure
    return failure.kind


async def moved(machine: GuestProtocol) -> None:
    await machine.post("/setup/create_folder", json={"path": f"{USER}\\Documents\\Plans"})


def test_right_ends_are_1_and_wrong_ones_0(guest: WindowsGuest, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    ends = play_all(
        guest, wheel,
        [("move", moved, [Finished()]), ("move", None, [Finished()]), ("move", moved, [CallUser()]),
         ("note", None, [PLUMS, Finished()]), ("note", None, [Finished()]),
         ("never", None, [CallUser()]), ("never", None, [Finished("FAIL: there is no way")]),
         ("never", None, [Finished()])],
        interface="sdk",
    )  # fmt: skip
    assert [reward(turn) for turn in ends] == [1, 0, 0, 1, 0, 1, 1, 0]
    assert isinstance(ends[3], Transition) and ends[3].success
    details = ends[4].observation.info["benchmark"]["details"]  # type: ignore[union-attr]
    assert "FileNotFoundError" in details["metrics"][0]["wrong"] and details["last"] == "DONE"


def test_steps_and_files_reach_the_machine(guest: WindowsGuest, tmp_path: Path) -> None:
    wheel = write_checkout(tmp_path)
    copy = tmp_path / "cache" / "get" / "pears.txt"
    copy.parent.mkdir(parents=True)
    copy.write_text("pears")
    scorers = str(write_wheel(tmp_path))
    seen: list[list[str]] = []

    async def look(machine: GuestProtocol) -> None:
        seen.append(sorted(str(path.relative_to(guest.home)) for path in guest.home.rglob("*")))

    bash = ToolCall("execute_bash", {"command": "mv Desktop/pears.txt Desktop/note.txt"})
    ends = play_all(
        guest, wheel, [("get", look, [bash, Finished()]), ("move", look, [Finished()])], interface="both",
        scorers=scorers,
    )  # fmt: skip
    assert [reward(turn) for turn in ends] == [1, 0]
    assert seen == [["Desktop", "Desktop/pears.txt"], ["Desktop", "Desktop/Plans"]], "each begins with an empty home"


def test_a_screen_is_seen_and_acted_on(guest: WindowsGuest, tmp_path: Path) -> None:
    [turn] = play_all(
        guest, write_wheel(tmp_path), [("note", None, [Click(Point(500, 500)), Type("hello"), Finished()])]
    )  # fmt: skip
    assert isinstance(turn, Transition) and turn.reward == 0
    pixels = turn.observation.pixels
    assert pixels is not None and pixels.shape == (200, 320, 3)
    assert pixels[100, 160].tolist() == [255, 255, 255] and pixels.sum() == 3 * 255
    assert (guest.home / "typed.txt").read_text() == "hello"


def test_what_a_machine_or_a_scorer_lacks_is_never_a_score(guest: WindowsGuest, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    ends = play_all(
        guest, wheel,
        [("edge", None, [Finished()]), ("view", None, [Finished()]), ("slow", None, [PLUMS, Finished()])],
        interface="sdk", scorer_limit=1.0,
    )  # fmt: skip
    assert [kind(each) for each in ends] == ["guest", "guest", "verifier"]
    assert "which runs programs of Windows" in str(ends[0]) and "did not answer within 1 s" in str(ends[2])
    [failed] = play_all(guest, wheel, [("note", None, [Finished()])], interface="sdk", revert=["false"])
    assert kind(failed) == "setup" and "revert ended with 1" in str(failed)
    reverted = tmp_path / "reverted"
    words = ["sh", "-c", f"echo $0 $1 > {reverted}", "{machine}", "{snapshot}"]
    [turn] = play_all(guest, wheel, [("note", None, [PLUMS, Finished()])], interface="sdk", revert=words)
    assert reward(turn) == 1 and reverted.read_text() == f"{guest.name} init_state\n"


def test_options_that_cannot_be_are_refused(guest: WindowsGuest, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    with pytest.raises(InputError, match="must have option servers, or config.sandbox.guests"):
        play_all(None, wheel, [])
    with pytest.raises(InputError, match="servers must be addresses such as"):
        play_all(None, wheel, [], servers=["10.0.0.7"])
    with pytest.raises(InputError, match="interface must be gui with WindowsAgentArena's own servers"):
        play_all(None, wheel, [], servers=["http://10.0.0.7:5000"], interface="sdk")
    with pytest.raises(InputError, match="scorers must be waa-cube's wheel"):
        play_all(guest, write_checkout(tmp_path), [])


class OwnServer:
    """A server with the routes of WindowsAgentArena's own that are asked, and a file system of one file."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.view, self.broken = 200, False

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        if path == "/probe":
            return JSONResponse({"status": "Probe successful"})
        if path == "/screenshot":
            picture = io.BytesIO()
            Image.new("RGB", (1000, 500), (0, 80, 0)).save(picture, "PNG")
            return Response(b"?" if self.broken else picture.getvalue(), media_type="image/png")
        if path in ("/execute", "/setup/execute"):
            self.commands.append((await request.json())["command"])
            return JSONResponse({"status": "success", "output": "", "error": "", "returncode": 0})
        if path == "/is_details_view":
            return JSONResponse({"status": "x"}, self.view)
        return PlainTextResponse("Not Found", 404)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        app = Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])
        with serving(app, ListenAddress(stop_seconds=1), plain=True) as address:
            yield address


def test_its_own_server_is_played_on_by_pyautogui(tmp_path: Path) -> None:
    own, wheel = OwnServer(), write_wheel(tmp_path)
    with own.serving() as address:

        def play(*actions: Any, name: str = "view") -> Transition | Exception:
            return play_all(None, wheel, [(name, None, actions)], servers=[address])[0]

        turn = play(Click(Point(500, 500)), Type("a b"), Finished())
        assert reward(turn) == 1
        said = [command[2].partition("FAILSAFE = False; ")[2] for command in own.commands]
        assert said == ["pyautogui.click(500, 250)", "pyautogui.write('a b')"]
        own.view = 404  # it says no
        assert reward(play(Finished())) == 0
        own.view = 500  # it failed
        assert kind(play(Finished())) == "verifier"
        assert reward(play(CallUser(), name="never")) == 1
        own.broken = True
        failed = play(Finished())
        assert kind(failed) == "screen" and "gave no picture" in str(failed)
