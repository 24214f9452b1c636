"""AndroidWorld's tasks over its HTTP form: on servers that fail in every way, and on the stand-in phone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.actions import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    LongPress,
    OpenApp,
    Point,
    PressBack,
    PressHome,
    Scroll,
    Type,
    Wait,
)
from tars_jax.environment import EnvironmentFailure, Task, Transition
from tars_jax.envs.benchmarks.android_world_actions import to_android_world
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone.android_world.client import AndroidWorldClient, RequestRefused, read_pixels
from tars_jax.sandbox.phone.phone_lock import lock_phone
from tars_jax.tasks.benchmarks.android_world import read_tasks
from tests.envs.benchmarks.android_world_server import PICTURE, FakeServer


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def address(fake: FakeServer) -> Iterator[str]:
    with fake.serving() as address:
        yield address


def play(address: str, name: str, turns: Sequence[Sequence[Action]], max_steps: int = 9, **options: Any) -> Transition:
    async def episode() -> Transition:
        spec = load_environment("android_world", {"tasks": address, **options})
        environment = spec.checked(EnvironmentResources())
        try:
            await environment.reset(
                Task("one", "android_world", 0, {"tasks": address, "task": name, **options}, max_steps)
            )
            for actions in turns:
                turn = await environment.step(actions)
            return turn
        finally:
            await environment.close()

    return asyncio.run(episode())


def details(turn: Transition) -> Any:
    return turn.observation.info["benchmark"]["details"]


# ---- actions


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        (Click(Point(500, 250)), [{"action_type": "click", "x": 540, "y": 600}]),
        (Click(Point(1000, 1000)), [{"action_type": "click", "x": 1079, "y": 2399}]),
        (LeftDouble(Point(0, 0)), [{"action_type": "double_tap", "x": 0, "y": 0}]),
        (LongPress(Point(500, 250)), [{"action_type": "long_press", "x": 540, "y": 600}]),
        (Scroll(Point(1, 1), "down"), [{"action_type": "scroll", "direction": "down"}]),
        (Scroll(None, "left"), [{"action_type": "scroll", "direction": "left"}]),
        (Drag(Point(500, 800), Point(500, 200)), [{"action_type": "swipe", "direction": "up"}]),
        (Drag(Point(500, 200), Point(500, 800)), [{"action_type": "swipe", "direction": "down"}]),
        (Drag(Point(900, 500), Point(100, 500)), [{"action_type": "swipe", "direction": "right"}]),
        (Drag(Point(100, 500), Point(900, 500)), [{"action_type": "swipe", "direction": "left"}]),
        (Type("abc"), [{"action_type": "input_text", "text": "abc"}]),
        (Type("abc\n"), [{"action_type": "input_text", "text": "abc"}]),
        (Type("\n"), [{"action_type": "keyboard_enter"}]),
        (
            Type("a\n\nb"),
            [
                {"action_type": "input_text", "text": "a"},
                {"action_type": "keyboard_enter"},
                {"action_type": "input_text", "text": "b"},
            ],
        ),
        (Type(""), []),
        (OpenApp("Contacts"), [{"action_type": "open_app", "app_name": "Contacts"}]),
        (PressHome(), [{"action_type": "navigate_home"}]),
        (PressBack(), [{"action_type": "navigate_back"}]),
        (Wait(2.0), [{"action_type": "wait"}] * 2),
        (Finished(), [{"action_type": "status", "goal_status": "complete"}]),
        (
            Finished("42"),
            [{"action_type": "answer", "text": "42"}, {"action_type": "status", "goal_status": "complete"}],
        ),
        (CallUser(), [{"action_type": "status", "goal_status": "infeasible"}]),
    ],
)
def test_actions_have_androidworlds_shapes(action: Action, sent: list[dict[str, Any]]) -> None:
    assert to_android_world(action, 1080, 2400) == sent


def test_what_no_phone_has_is_refused() -> None:
    with pytest.raises(InputError, match="must be one of a phone; got hotkey"):
        to_android_world(Hotkey(("ctrl", "c")), 1080, 2400)


# ---- pixels


def test_pixels_are_read_as_they_were_sent() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (7, 5, 3), np.uint8)
    assert np.array_equal(read_pixels(json.dumps({"pixels": picture.tolist()}).encode()), picture)
    assert np.array_equal(read_pixels(json.dumps({"pixels": picture.tolist()}, indent=1).encode()), picture)


@pytest.mark.parametrize(
    "pixels",
    [[], [[]], [[[]]], [[[1, 2]]], [[[1, 2, 256]]], [[[1, 2, -3]]], [[[1, 2, 3.5]]], [[["a", 2, 3]]],
     [[[1, 2, 3]], [[1, 2, 3], [4, 5, 6]]], [[[1, 2, 3]] * 3, [[1, 2, 3]]], None, "iVBORw0KGgo="],
)  # fmt: skip
def test_what_is_no_picture_is_a_failure(pixels: Any) -> None:
    with pytest.raises(SandboxFailure, match="screenshot") as failure:
        read_pixels(json.dumps({"pixels": pixels}).encode())
    assert failure.value.kind == "screen"


# ---- tasks


def test_an_address_names_all_of_a_servers_tasks(address: str) -> None:
    tasks = read_tasks(Path(address))
    assert [task.id for task in tasks] == ["ClockVerify_0", "ClockVerify_1", "ContactsAdd_0", "ContactsAdd_1"]
    assert (tasks[2].instruction, tasks[2].group, tasks[2].max_steps) == ("ContactsAdd 0 of 42", "Contacts", 20)


def test_a_file_chooses_and_leaves_out(address: str, tmp_path: Path) -> None:
    metadata = [{"task_name": "ContactsAdd", "difficulty": "easy", "optimal_steps": "8"},
                {"task_name": "ClockVerify", "difficulty": "hard", "optimal_steps": "1"}]  # fmt: skip
    (tmp_path / "metadata.json").write_text(json.dumps(metadata))
    path = tmp_path / "tasks.toml"
    path.write_text(
        f'servers = ["http://127.0.0.1:9", "{address}"]\nseed = 30\ncombinations = 2\ninstances = [1]\n'
        'metadata = "metadata.json"\nleft_out = {ClockVerify = "is done before it begins"}\n'
    )
    clock, contacts = read_tasks(path)
    assert (clock.left_out, clock.max_steps, clock.group) == ("is done before it begins", 10, "hard")
    assert (contacts.id, contacts.instruction) == ("ContactsAdd_1", "ContactsAdd 1 of 30")
    assert (contacts.left_out, contacts.max_steps, contacts.group) == ("", 16, "easy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "servers must be one or more addresses"),
        ("servers = [", "must be a whole TOML file"),
        ('server = "10.0.0.1:5000"', "must be http://HOST:PORT"),
        ('server = "ADDRESS"\nfrobnicate = 1', "frobnicate must be left out"),
        ('server = "ADDRESS"\ntasks = ["Nothing"]', "tasks must be among the 2 of .* got 'Nothing'"),
        ('server = "ADDRESS"\ninstances = [2]', "instances must be below 2"),
        ('server = "ADDRESS"\nsteps = {ContactsAdd = 0}', "steps.ContactsAdd must be a whole number of at least 1"),
        ('server = "ADDRESS"\nmetadata = "none.json"', "none.json does not exist"),
        ('server = "ADDRESS"\ntoken_variable = "TARS_JAX_NO_SUCH_TOKEN"', "must have TARS_JAX_NO_SUCH_TOKEN"),
        ('server = "http://127.0.0.1:9"', "a server of AndroidWorld that answers; .*does not answer"),
    ],
)
def test_files_that_are_wrong_are_refused_in_a_sentence(address: str, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tasks.toml").write_text(text.replace("ADDRESS", address))
    with pytest.raises(InputError, match=message):
        read_tasks(tmp_path / "tasks.toml")


def test_another_kind_of_server_is_refused(fake: FakeServer, address: str) -> None:
    fake.answers = {"/health": {"status": "ok"}}
    with pytest.raises(InputError, match="must be a server of AndroidWorld"):
        read_tasks(Path(address))
    fake.answers = {}
    with pytest.raises(InputError, match="said 404"):
        read_tasks(Path(address))


# ---- episodes


def test_an_episode_is_scored_once_it_is_said_to_be_done(fake: FakeServer, address: str) -> None:
    turn = play(address, "ContactsAdd_0", [[Click(Point(500, 500))], [Finished("7")]])
    assert turn.success and turn.reward == 1 and turn.terminated
    assert fake.actions == [
        {"action_type": "click", "x": 1, "y": 2},
        {"action_type": "answer", "text": "7"},
        {"action_type": "status", "goal_status": "complete"},
    ]
    assert details(turn)["score_at_start"] == 0 and details(turn)["ended_by"] == "finished"
    assert [each["step"] for each in details(turn)["sent"]] == [0, 1, 1]
    assert fake.asked[-1] == "/task/tear_down" and fake.asked.count("/task/score") == 2
    assert turn.observation.pixels is not None and turn.observation.pixels.tolist() == PICTURE


def test_who_does_not_say_so_has_not_done_it(address: str) -> None:
    turn = play(address, "ContactsAdd_0", [[Click(Point(500, 500))]] * 2, max_steps=2)
    assert turn.truncated and turn.reward == 0 and turn.success is False
    assert details(turn)["checked"] == 1 and details(turn)["ended_by"] == ""


def test_a_success_before_the_first_step_is_said(fake: FakeServer, address: str) -> None:
    turn = play(address, "ClockVerify_1", [[Finished()]])
    assert turn.success and details(turn)["score_at_start"] == 1
    assert details(turn)["note"] == "its check was a success before the first step"
    asked = len(fake.asked)
    assert details(play(address, "ClockVerify_1", [[Finished()]], score_first=False))["score_at_start"] is None
    assert fake.asked[asked:].count("/task/score") == 1


def test_a_server_that_was_started_again_gets_its_instances_back(
    fake: FakeServer, address: str, tmp_path: Path
) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps({"server": address, "seed": 30, "combinations": 2}))
    tasks = str(tmp_path / "tasks.json")
    assert play(tasks, "ContactsAdd_0", [[Wait(1.0)], [Finished()]]).success
    fake.seed = 42
    assert play(tasks, "ContactsAdd_0", [[Wait(1.0)], [Finished()]]).success and fake.seed == 30
    fake.answers["/task/goal"] = {"goal": "another"}
    with pytest.raises(EnvironmentFailure, match="must be 'ContactsAdd 0 of 30'; got 'another'"):
        play(tasks, "ContactsAdd_0", [[Finished()]])


@pytest.mark.parametrize(
    ("path", "answer", "kind"),
    [
        ("/task/score", lambda query: (500, "Internal Server Error"), "service"),
        ("/task/score", {"score": None}, "service"),
        ("/task/score", {"score": 7}, "service"),
        ("/task/score", {"points": 1}, "service"),
        ("/task/score", "1.0", "service"),
        ("/task/initialize", (500, "Internal Server Error"), "service"),
        ("/screenshot", {"pixels": [[1, 2, 3]]}, "screen"),
        ("/screenshot", {"png": ""}, "screen"),
        ("/screenshot", (503, {"detail": "no device", "kind": "no_device"}), "service"),
        ("/reset", "<html>", "service"),
        ("/reset", {"status": "error", "message": "no device"}, "service"),
        ("/task/initialize", {"status": "error", "message": "no such app"}, "service"),
        ("/task/initialize", {}, "service"),
        ("/execute_action", {"status": "error", "message": "no device"}, "service"),
        ("/health", (500, {"detail": "Environment not initialized"}), "service"),
    ],
)
def test_what_the_server_does_wrong_is_never_a_score(
    fake: FakeServer, address: str, path: str, answer: Any, kind: str
) -> None:
    read_tasks(Path(address))
    load_environment("android_world", {"tasks": address})  # reads while all is well
    fake.answers[path] = answer
    with pytest.raises(EnvironmentFailure) as failure:
        play(address, "ContactsAdd_0", [[Finished()]])
    assert failure.value.kind == kind
    held = lock_phone(address)
    assert held is not None, "the server must be free for others"
    held.close()


def test_a_check_that_fails_at_the_end_is_the_verifiers_failure(fake: FakeServer, address: str) -> None:
    fake.answers["/task/score"] = (500, "Internal Server Error")
    with pytest.raises(EnvironmentFailure, match="ContactsAdd 0 has no score") as failure:
        play(address, "ContactsAdd_0", [[Finished()]], score_first=False)
    assert failure.value.kind == "verifier"


def test_an_app_that_there_is_not_is_the_agents_to_hear(fake: FakeServer, address: str) -> None:
    fake.answers["/execute_action"] = (500, "Internal Server Error")
    fake.answers["/task/score"] = {"score": 0.0}
    turn = play(address, "ContactsAdd_0", [[OpenApp("Nothing")]])
    assert not turn.terminated and "open_app: " in turn.observation.text
    with pytest.raises(EnvironmentFailure, match="said 500"):
        play(address, "ContactsAdd_0", [[Click(Point(1, 1))]])


def test_slow_servers_are_given_up_and_actions_are_never_sent_twice(fake: FakeServer, address: str) -> None:
    fake.answers["/execute_action"] = 5.0
    client = AndroidWorldClient(address, seconds=0.3)
    with pytest.raises(SandboxFailure, match="did not answer within 0.3 s") as failure:
        client.act({"action_type": "wait"})
    assert failure.value.kind == "timeout" and len(fake.actions) == 1
    fake.answers["/screenshot"], began = 5.0, time.monotonic()
    with pytest.raises(SandboxFailure, match="did not answer within 0.3 s"):
        client.screenshot()
    assert time.monotonic() - began < 2 and fake.asked.count("/screenshot") == 1
    fake.answers["/task/initialize"] = 0.6
    client.initialize("ContactsAdd", 0)  # which may take longer
    fake.answers["/execute_action"] = (422, {"detail": "direction must be up"})
    with pytest.raises(RequestRefused, match="direction must be up") as refused:
        client.act({"action_type": "scroll"})
    assert not refused.value.broke
    client.close()


def test_headers_that_drip_are_given_up() -> None:
    def drip() -> None:
        with listening.accept()[0] as connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            for _ in range(200):
                connection.sendall(b"x")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drip, daemon=True).start()
        client = AndroidWorldClient(f"http://127.0.0.1:{listening.getsockname()[1]}", seconds=0.5)
        began = time.monotonic()
        with pytest.raises(SandboxFailure, match="did not answer within 0.5 s") as failure:
            client.screenshot()
        assert failure.value.kind == "timeout" and time.monotonic() - began < 3
        client.close()


def test_two_environments_wait_for_each_other(address: str) -> None:
    held = lock_phone(address)
    assert held is not None

    async def wait() -> Transition:
        loop = asyncio.get_running_loop()
        loop.call_later(0.5, held.close)
        return await asyncio.to_thread(play, address, "ClockVerify_0", [[Finished()]])

    assert asyncio.run(wait()).success


def test_an_episode_that_is_over_holds_nothing(address: str) -> None:
    async def episode() -> None:
        environment = load_environment("android_world", {"tasks": address}).checked(EnvironmentResources())
        await environment.reset(Task("one", "android_world", 0, {"tasks": address, "task": "ClockVerify_0"}, 3))
        assert lock_phone(address) is None
        await environment.step([Finished()])
        held = lock_phone(address)
        assert held is not None
        held.close()
        await environment.close()

    asyncio.run(episode())


# ---- the stand-in phone


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.skipif(shutil.which("adb") is None, reason="adb is not installed")
def test_tasks_of_the_stand_in_are_done_by_hand_and_by_nothing_else() -> None:
    pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
    from tars_jax.envs.phone import _places
    from tars_jax.envs.phone_suite import PhoneSuite
    from tars_jax.sandbox.phone.android_world import make_app
    from tars_jax.web.listening import ListenAddress
    from tars_jax.web.running import serving

    suite = PhoneSuite(seed=3)

    async def solve(environment: Any, scene: Any) -> Transition:
        turn: Transition | None = None
        for kind, given in scene.solution:
            action: Action = OpenApp(given) if kind == "open_app" else Type(given)
            if kind == "tap":
                assert suite.held is not None
                while given not in (places := suite.held.stand_in.call(_places)):
                    await environment.step([Scroll(Point(500, 500), "down")])
                action = Click(Point(*places[given]))
            turn = await environment.step([action])
            assert not turn.terminated, turn.observation.text
        return await environment.step([Finished(scene.wanted.answer or "")])

    async def both_ways(address: str) -> dict[str, tuple[bool | None, bool | None, Any]]:
        options = {"tasks": address}
        spec = load_environment("android_world", options)
        environment = spec.checked(EnvironmentResources())
        found = {}
        try:
            for name in ("ChooseLanguage", "LookUpNumber", "SettingsOpenVerify", "WriteNote"):
                task = suite.tasks(2, 42)[name][0]
                asked = Task("one", "android_world", 0, {**options, "task": f"{name}_0"}, 30)
                first = await environment.reset(asked)
                assert first.pixels is not None and first.pixels.shape == (640, 360, 3)
                assert environment.instruction == task.goal
                solved = await solve(environment, task.scene)  # type: ignore[attr-defined]
                await environment.reset(asked)
                nothing = await environment.step([Finished()])
                found[name] = (solved.success, nothing.success, details(nothing)["score_at_start"])
        finally:
            await environment.close()
        return found

    try:
        app = make_app(asyncio.run(suite.start()).phone, {"android_world": suite.tasks})
        with serving(app, ListenAddress(stop_seconds=1), plain=True) as address:
            found = asyncio.run(both_ways(address))
    finally:
        suite.close()
    assert found.pop("SettingsOpenVerify") == (True, True, 1.0)
    assert len(found) == 3 and set(found.values()) == {(True, False, 0.0)}, found
