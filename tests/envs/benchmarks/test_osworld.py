"""Tasks in OSWorld's format from their steps to their score, on desktops; their scorers' package is stood in for."""

from __future__ import annotations

import asyncio
import ctypes
import http.server
import shutil
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import CallUser, Finished, Hotkey, ToolCall, Type, Wait
from tars_jax.environment import EnvironmentFailure, Task, Transition
from tars_jax.envs.benchmarks.osworld import OSWorldEnvironment
from tars_jax.envs.benchmarks.osworld.guest import port_of
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.tasks.benchmarks.catalog import read_benchmark
from tests.envs.benchmarks.osworld_stand_in import TASKS, rule, says, scorers, task, write_tasks
from tests.sandbox.desktop.conftest import require_desktop
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.multiprocess


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("osworld"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scorers(tmp_path_factory.mktemp("scorers"))


@pytest.fixture(autouse=True)
def with_scorers(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_OSWORLD", str(installed))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def play(
    runner: asyncio.Runner, checkout: Path, name: str, *turns: list[Any], **options: Any
) -> tuple[Transition, OSWorldEnvironment]:
    require_desktop()

    async def played() -> tuple[Transition, OSWorldEnvironment]:
        environment = OSWorldEnvironment(read_benchmark("osworld", str(checkout)), settle=0, **options)
        try:
            await environment.reset(Task("t", "osworld", 0, {"task": name}, len(turns)))
            for turn in turns:
                last = await environment.step(turn)
                if last.terminated:
                    break
            return last, environment
        finally:
            await environment.close()

    return runner.run(played())


def details(last: Transition) -> dict[str, Any]:
    found: dict[str, Any] = dict(last.observation.info["benchmark"]["details"])
    return found


def test_a_task_is_solved_by_the_screen_alone(runner: asyncio.Runner, checkout: Path) -> None:
    turns: list[list[Any]] = [[Type("mv ~/Desktop/figs ~/Desktop/plums\n"), Wait(1.0)], [Finished("")]]
    last, environment = play(runner, checkout, "rename", *turns)
    assert (last.reward, last.success, last.terminated) == (1.0, True, True)
    assert environment.instruction.startswith(TASKS["os"][0]["instruction"]) and "FAIL" in environment.instruction
    assert last.observation.pixels is not None and last.observation.pixels.shape == (1080, 1920, 3)


def test_nothing_done_is_zero_and_the_last_step_ends_it(runner: asyncio.Runner, checkout: Path) -> None:
    last, _ = play(runner, checkout, "rename", [Hotkey(("shift",))])
    assert (last.reward, last.success, last.truncated) == (0.0, False, True)
    assert details(last) == {"metrics": [{"metric": "exact_match", "score": 0.0}], "last": ""}


@pytest.mark.parametrize(
    ("name", "end", "score"),
    [
        ("fly", CallUser(), 1.0),
        ("fly", Finished("it flies"), 0.0),
        ("rename", Finished("FAIL: there is no such folder"), 0.0),
    ],
)
def test_who_gives_up_is_right_where_nothing_can_be_done(
    runner: asyncio.Runner, checkout: Path, name: str, end: Any, score: float
) -> None:
    assert play(runner, checkout, name, [end])[0].reward == score


def test_files_come_from_beside_the_tasks(runner: asyncio.Runner, checkout: Path) -> None:
    gold = checkout / "cache" / "copy" / "gold.txt"
    gold.parent.mkdir(parents=True, exist_ok=True)
    gold.write_text("one plum\n")
    copy = ToolCall("execute_bash", {"command": "cp ~/Desktop/recipe.txt ~/Desktop/copy.txt"})
    last, environment = play(runner, checkout, "copy", [copy], [Finished("")], interface="sdk")
    assert [each["score"] for each in details(last)["metrics"]] == [1.0, 1.0]
    assert last.reward == 1.0 and last.observation.pixels is None
    assert [function.name for function in environment.action_space.functions] == ["execute_bash", "str_replace_editor"]


def test_or_takes_the_best(runner: asyncio.Runner, checkout: Path) -> None:
    does = ToolCall("execute_bash", {"command": "echo no > ~/said.txt"})
    assert play(runner, checkout, "either", [does], [Finished("")], interface="both")[0].reward == 0.5


def test_a_task_whose_steps_fail_is_no_score(runner: asyncio.Runner, tmp_path: Path) -> None:
    begins = {"type": "launch", "parameters": {"command": ["no-such-program"]}}
    write_tasks(tmp_path, {"os": [task("lost", "Begin.", says("true", ""), begins)]})
    with pytest.raises(EnvironmentFailure, match="step 1 of the task, launch: .*no-such-program") as error:
        play(runner, tmp_path, "lost", [Finished("")])
    assert error.value.kind == "setup"


@pytest.mark.parametrize(
    ("interface", "kill", "move"),
    [
        ("both", "pkill -9 Xvfb", "mv ~/Desktop/figs ~/Desktop/plums"),
        ("sdk", "kill -9 -1", "mv ~/Desktop/figs ~/Desktop/plums"),
        pytest.param("sdk", "kill -9 -1", ":", marks=pytest.mark.full),
    ],
)
def test_without_a_screen_the_state_is_scored_as_it_is(
    runner: asyncio.Runner, checkout: Path, interface: str, kill: str, move: str
) -> None:
    """Whatever else an agent has ended: what looks at the state needs none of it."""
    ends = ToolCall("execute_bash", {"command": f"{move}; {kill}"})
    last, _ = play(runner, checkout, "rename", [ends], [Finished("")], interface=interface)
    assert last.reward == float(move != ":") and "the X server was ended inside" in details(last)["broken"]


@pytest.mark.parametrize(("interface", "there"), [("sdk", False), ("gui", True), ("both", True)])
def test_an_agent_is_told_of_ends_that_it_has(checkout: Path, interface: str, there: bool) -> None:
    environment = OSWorldEnvironment(read_benchmark("osworld", str(checkout)), interface=interface)
    asyncio.run(environment.close())
    assert ("call_user" in environment.action_space.actions) is there
    assert ("call_user" in environment.said_of_ends) is there and "FAIL" in environment.said_of_ends


def test_several_at_once(runner: asyncio.Runner, checkout: Path) -> None:
    require_desktop()

    async def both() -> list[float]:
        names = ("rename", "either")
        tasks = read_benchmark("osworld", str(checkout))
        environments = [OSWorldEnvironment(tasks, interface="sdk", settle=0) for _ in names]
        try:
            for environment, name in zip(environments, names, strict=True):
                await environment.reset(Task("t", "osworld", 0, {"task": name}, 2))
            do = ToolCall("execute_bash", {"command": "mv ~/Desktop/figs ~/Desktop/plums || echo hello >~/said.txt"})
            await asyncio.gather(*(environment.step([do]) for environment in environments))
            ends = await asyncio.gather(*(environment.step([Finished("")]) for environment in environments))
            return [end.reward for end in ends]
        finally:
            for environment in environments:
                await environment.close()

    assert runner.run(both()) == [1.0, 1.0]


def test_ports_of_the_inside_are_for_this_user_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Inside:
        async def connect(self, target: int) -> Any:
            return await asyncio.open_connection("127.0.0.1", target)

    async def echoed() -> tuple[bytes, bytes]:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        async def asked(port: int) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"plum\n")
            try:
                return await asyncio.wait_for(reader.read(), PATIENCE_S)
            except ConnectionError:
                return b""
            finally:
                writer.close()

        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            machine: Any = Inside()
            async with port_of(machine, server.sockets[0].getsockname()[1]) as port:
                mine = await asked(port)
                monkeypatch.setattr("os.geteuid", lambda: 1_999_999)
                return mine, await asked(port)

    assert asyncio.run(echoed()) == (b"plum\n", b"")


# ---- the scorers' process, by itself


def request(folder: Path, evaluator: dict[str, Any], port: int = 9) -> dict[str, Any]:
    return {
        "evaluator": evaluator, "cache": str(folder / "cache"), "host": "any:token-of-it@127.0.0.1",
        "ports": {"server": port}, "last": "DONE", "size": [1920, 1080], "platform": "Linux",
    }  # fmt: skip


def score(folder: Path, evaluator: dict[str, Any]) -> tuple[float, Any]:
    async def scored() -> tuple[float, Any]:
        scorer = Scorer(scorer_python())
        try:
            return await scorer.score(request(folder, evaluator), 60.0)
        finally:
            await scorer.close()

    return asyncio.run(scored())


def of_file(func: str, path: str, expected: Any) -> dict[str, Any]:
    return {"func": func, "result": {"type": "cache_file", "path": path}, "expected": expected}


def test_a_state_that_cannot_be_read_is_zero(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "gold.txt").write_text("plum")
    found, said = score(tmp_path, of_file("compare_text_file", "none.txt", {"type": "cloud_file", **GOLD}))
    assert found == 0.0 and said["metrics"][0]["wrong"].startswith("AssertionError")


GOLD = {"path": "https://example.org/gold.txt", "dest": "gold.txt"}


@pytest.mark.parametrize(
    ("evaluator", "words"),
    [
        (says("true", "yes"), "the guest did not answer"),
        ({"func": "compare_text_file", "result": {"type": "vm_file", "path": "/a", "dest": "a"},
          "expected": rule("")}, "the guest did not answer"),  # the getter itself says None
        (of_file("compare_text_file", "a", {"type": "cloud_file", **GOLD}), "there is no internet"),
        (of_file("fuzzy_match", "a", rule("")), "AssertionError|has no fuzzy_match"),
        (of_file("is_in_list", "here.txt", rule("")), "the scorer ended with 9"),
    ],
)  # fmt: skip
def test_what_is_lacking_is_never_a_score(tmp_path: Path, evaluator: dict[str, Any], words: str) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "here.txt").write_text("")
    with pytest.raises(EnvironmentFailure, match=words) as error:
        score(tmp_path, evaluator)
    assert error.value.kind == "verifier"


@pytest.mark.parametrize("through", ["", "dots", "link"])
def test_archives_of_an_agent_are_unpacked_nowhere_else(tmp_path: Path, through: str) -> None:
    cache, away = tmp_path / "cache", tmp_path / "away"
    for folder in (cache, away):
        folder.mkdir()
    with tarfile.open(cache / "left.tar", "w") as archive:
        if through == "link":
            link = tarfile.TarInfo("out")
            link.type, link.linkname = tarfile.SYMTYPE, str(away)
            archive.addfile(link)
        name = {"": "good.txt", "dots": "../away/bad.txt", "link": "out/bad.txt"}[through]
        archive.addfile(tarfile.TarInfo(name))
    found, said = score(tmp_path, of_file("compare_archive", "left.tar", rule("")))
    assert list(away.iterdir()) == [] and found == float(not through) and (cache / "good.txt").exists() == (not through)
    assert not through or "outside of its folder" in said["metrics"][0]["wrong"]


def test_programs_that_a_scorer_starts_write_nowhere_else(tmp_path: Path) -> None:
    if ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) < 1:
        pytest.skip("this kernel has no Landlock")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a").write_text("")
    evaluator = {**of_file("compare_csv", "a", rule("")), "options": {"to": str(tmp_path / "bad.txt")}}
    assert score(tmp_path, evaluator)[0] == 1.0 and not (tmp_path / "bad.txt").exists()


@pytest.mark.parametrize("alive", [True, False])
def test_what_holds_the_guest_up_is_the_agents_own(tmp_path: Path, alive: bool) -> None:
    """Such as a pipe where a command of the scorer reads a file."""
    (tmp_path / "cache").mkdir()

    class Guest(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            time.sleep(3.0)

        def do_GET(self) -> None:
            self.send_response(200 if alive else 503)
            self.end_headers()

    async def scored(port: int) -> tuple[float, Any]:
        scorer = Scorer(scorer_python())
        try:
            return await scorer.score(request(tmp_path, says("cat pipe", "yes"), port), 2.0)
        finally:
            await scorer.close()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guest) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            if alive:
                found, said = asyncio.run(scored(server.server_port))
                assert found == 0.0 and "held up for 1 s by: execute {'command': 'cat pipe'" in str(said)
            else:
                with pytest.raises(EnvironmentFailure, match="the guest did not answer: ReadTimeout"):
                    asyncio.run(scored(server.server_port))
        finally:
            server.shutdown()


def test_a_scorer_that_hangs_is_ended(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "here.txt").write_text("")

    async def twice() -> float:
        scorer = Scorer(scorer_python())
        try:
            with pytest.raises(EnvironmentFailure, match="did not answer within 0.5 s"):
                await scorer.score(request(tmp_path, of_file("literal_match", "here.txt", rule(""))), 0.5)
            return (await scorer.score(request(tmp_path, of_file("check_line_number", "here.txt", rule(""))), 60))[0]
        finally:
            await scorer.close()

    assert asyncio.run(twice()) == 0.5


def test_another_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_OSWORLD", str(scorers(tmp_path / "newer", "1.0.9")))
    with pytest.raises(
        EnvironmentFailure, match=r"desktop-env must be 1.0.2; got 1.0.9; ./launch/osworld.sh installs it"
    ):
        score(tmp_path, says("true", ""))


def test_scorers_that_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path) -> None:
    shutil.rmtree(scorers(tmp_path / "half") / "lib")
    for folder in (tmp_path / "none", tmp_path / "half"):
        monkeypatch.setenv("TARS_JAX_OSWORLD", str(folder))
        with pytest.raises(InputError, match=r"must have desktop-env's scorers in .*; ./launch/osworld.sh installs"):
            OSWorldEnvironment(read_benchmark("osworld", str(checkout)))
