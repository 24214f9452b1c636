"""Computers that are bare guests, each the program of launch/windows_guest.py: here on Linux, with bash."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Click, Point, ToolCall, Type
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs import guest_pool
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import SandboxAddress, host_and_port
from tars_jax.sandbox.computer.equipped import bare
from tars_jax.sandbox.computer.equipped.bare import LeasedGuest
from tars_jax.sandbox.computer.equipped.remote_guest import RemoteGuest
from tars_jax.sandbox.computer.home import File
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.computer.catalog import SceneLevel
from tars_jax.tasks.computer.scene import ComputerScene, expect
from tests.envs.computer_player import play
from tests.ports import free_port
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.multiprocess
GUEST = Path(__file__).parents[2] / "launch" / "windows_guest.py"
TOKEN = "a token of more than 16 letters"


class Guest:
    def __init__(self, folder: Path, *program: str) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", *program, str(GUEST), "--port", "0", "--home", str(self.home), "--episodes"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "TARS_GUEST_TOKEN": TOKEN},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.name = self.process.stdout.readline().split()[-1]

    def end(self, kills: bool = False) -> None:
        self.process.kill() if kills else self.process.terminate()
        self.process.wait(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Guest]]:
    two = [Guest(tmp_path_factory.mktemp("guest")) for _ in range(2)]
    yield two
    for guest in two:
        guest.end()


def at(*names: str) -> EnvironmentResources:
    return EnvironmentResources(sandbox=SandboxAddress(guests=names, key=TOKEN))


def checked(*names: str, task: str = "count_lines", **options: Any) -> CheckedEnvironment:
    """With a loop of its own, and so with a pool of its own: a learner by itself."""
    return CheckedEnvironment(lambda: ComputerEnvironment(task, resources=at(*names), **options), 120)


def task(seed: int = 1) -> Task:
    return Task("one", "computer", seed, {}, 8)


def bash(command: str) -> list[Any]:
    return [ToolCall("execute_bash", {"command": command})]


@pytest.mark.parametrize("name", ["count_lines", "move_file", "run_script", "end_process"])
def test_the_reference_player_does_tasks_of_files_and_programs(guests: list[Guest], name: str) -> None:
    played, seen = asyncio.run(play(name, resources=at(*(guest.name for guest in guests))))
    assert played.success and played.reward == 1, (seen.info["wrong"], seen.text)


def test_an_episode_finds_nothing_of_the_one_before(guests: list[Guest]) -> None:
    async def live() -> None:
        environment = checked(guests[0].name)
        first = await environment.reset(task())
        turn = await environment.step(bash("X=7; cd ..; sleep 600 & echo $! > home/pid; ls home"))
        assert "pid" in turn.observation.text
        left = int((guests[0].home / "pid").read_text())
        turn = await environment.step(bash("echo $X; setsid sleep 601 & sleep 0.1"))
        assert turn.observation.text.startswith("7")
        again = await environment.reset(task())
        assert again.text == first.text and again.info == first.info
        await until(lambda: not Path(f"/proc/{left}").exists() or "Z" in Path(f"/proc/{left}/stat").read_text())
        turn = await environment.step(bash("echo $X.; ls; pgrep -x sleep -P $$ || true"))
        assert turn.observation.text.startswith(".\n") and "pid" not in turn.observation.text
        await environment.close()

    asyncio.run(live())


def test_a_guest_is_one_learners_alone(guests: list[Guest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_pool, "PATIENCE_S", 0.5)
    monkeypatch.setattr(guest_pool, "LOOK_S", 0.1)

    async def live() -> None:
        names = [guest.name for guest in guests]
        one, two, three = (checked(*names) for _ in range(3))
        await asyncio.gather(one.reset(task(1)), two.reset(task(2)))
        for environment, own in ((one, "one"), (two, "two")):
            await environment.step(bash(f"echo {own} > own"))
        assert {(guest.home / "own").read_text() for guest in guests} == {"one\n", "two\n"}
        with pytest.raises(
            EnvironmentFailure, match="no guest was free for 0.5 s; held: the guest is leased"
        ) as failed:
            await three.reset(task(3))
        assert failed.value.kind == "held"
        remote = RemoteGuest(*host_and_port(names[0]), TOKEN)  # whoever has the token and no lease
        with pytest.raises(SandboxFailure, match="leased to a learner"):
            async with remote:
                await remote.machine.run(["true"])
        await one.close()
        await three.reset(task(3))
        await asyncio.gather(two.close(), three.close())

    asyncio.run(live())


def test_a_learner_that_slept_through_its_lease_touches_nothing(
    guests: list[Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        host, port = host_and_port(guests[0].name)
        monkeypatch.setattr(bare, "LEASE_S", 1.0)
        sleeper = await LeasedGuest.take(host, port, TOKEN)
        assert sleeper._renewing is not None
        sleeper._renewing.cancel()

        async def taken() -> LeasedGuest | None:
            try:
                return await LeasedGuest.take(host, port, TOKEN)
            except SandboxFailure as failure:
                assert failure.kind == "held"
                return None

        other = await until(taken)
        with pytest.raises(SandboxFailure) as failed:
            await sleeper.remote.machine.run(["touch", "late"])
        assert failed.value.kind in ("held", "guest")  # refused, or its connection was ended
        with pytest.raises(SandboxFailure, match="the lease is over"):
            await sleeper.remote.machine.run(["touch", "late"])
        await sleeper.close()  # which does not end the other's
        assert (await other.remote.machine.run(["ls"])).stdout == b""
        await other.close()

    asyncio.run(live())


def test_a_guest_that_dies_is_passed_over(guests: list[Guest], tmp_path: Path) -> None:
    async def live() -> None:
        mortal = Guest(tmp_path)
        environment = checked(mortal.name, guests[1].name)
        await environment.reset(task())
        await environment.step(bash("touch here"))
        assert (mortal.home / "here").exists()
        mortal.end(kills=True)
        with pytest.raises(EnvironmentFailure) as failed:
            await environment.step(bash("ls"))
        assert failed.value.kind == "guest"
        await environment.reset(task())
        await environment.step(bash("touch there"))
        assert (guests[1].home / "there").exists()
        await environment.close()

    asyncio.run(live())


class Typed(ComputerEnvironment):
    """Something is typed, with a finger on the screen."""

    def draw(self, seed: int) -> SceneLevel:
        goal = lambda seen: expect(seen, {"typed.txt": File(f"plum {seed}".encode())})  # noqa: E731
        return SceneLevel("typed", ComputerScene("Type it.", files={}, goal=goal, solution=()))


def test_a_guest_with_a_screen(tmp_path: Path) -> None:
    async def live() -> None:
        guest = Guest(tmp_path, str(Path(__file__).with_name("guest_with_a_screen.py")))
        environment = CheckedEnvironment(lambda: Typed(parts=["desktop"], resources=at(guest.name)), 60)
        seen = await environment.reset(task(4))
        assert seen.pixels is not None and seen.pixels.shape == (200, 320, 3) and not seen.pixels.any()
        turn = await environment.step([Click(Point(500, 500))])
        assert turn.observation.pixels is not None and turn.observation.pixels.sum() == 3 * 255 and not turn.reward
        turn = await environment.step([Type("plum 4")])
        assert turn.success and turn.reward == 1
        await environment.close()
        guest.end()

    asyncio.run(live())


def test_what_guests_cannot_do_is_said(guests: list[Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = guests[0].name
    for environment, words in (
        (checked(name, task="download_and_sum"), "task must be one without applications and a site"),
        (
            checked(name, parts=["shell", "browser"]),
            "parts must be of shell, desktop with sandbox.guests; got",
        ),
        (checked(name, parts=["shell", "desktop"]), "screen and input must be asked of a guest on Windows"),
        (checked(name, isolation="gvisor"), "isolation must be auto with"),
    ):
        with pytest.raises(InputError, match=words):
            asyncio.run(environment.reset(task()))
    wrong = EnvironmentResources(sandbox=SandboxAddress(guests=(name,), key="another token"))
    with pytest.raises(InputError, match="the first call must be hello, with the token"):
        asyncio.run(CheckedEnvironment(lambda: ComputerEnvironment(resources=wrong), 60).reset(task()))
    monkeypatch.setattr(guest_pool, "FIRST_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nobody, deaf = f"127.0.0.1:{free_port()}", f"127.0.0.1:{silent.getsockname()[1]}"
        for away, words in ((nobody, "the guest is gone: .*refused|Connect call failed"), (deaf, "did not answer")):
            with pytest.raises(InputError, match=f"sandbox.guests must be guests that answer; got {away}: .*({words})"):
                asyncio.run(checked(away).reset(task()))
    monkeypatch.setattr(bare, "VERSION", 3)
    with pytest.raises(InputError, match=r"guests of version 3, as launch/windows_guest.py is; \S+ is of version 2"):
        asyncio.run(checked(name).reset(task()))
    command = [sys.executable, str(GUEST), "--port", "0", "--episodes"]
    environ = {**os.environ, "TARS_GUEST_TOKEN": TOKEN, "HOME": str(tmp_path / "me")}
    for home in ([], ["--home", str(tmp_path / "me")], ["--home", str(tmp_path)]):  # a user's own is not emptied
        done = subprocess.run([*command, *home], capture_output=True, text=True, env=environ)
        assert done.returncode == 2 and "--home must be a folder that may be emptied" in done.stderr
