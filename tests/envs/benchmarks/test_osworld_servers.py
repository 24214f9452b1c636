"""OSWorld's tasks on computers elsewhere: two servers of the command `osworld`, each a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished, Type, Wait
from tars_jax.environment import EnvironmentFailure, Task, Transition
from tars_jax.envs.benchmarks.osworld import OSWorldEnvironment
from tars_jax.envs.benchmarks.osworld.machines import Machines, check_servers
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.benchmarks.catalog import read_benchmark
from tests.envs.benchmarks.osworld_stand_in import HAS_PLUMS, says, scorers, step, task, write_tasks
from tests.sandbox.desktop.conftest import require_desktop
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.multiprocess
ROOT = Path(__file__).parents[3]
SIZE = [640, 480]
TASKS = {
    "os": [
        task(
            "rename", "The folder figs on the desktop should be called plums.", says(HAS_PLUMS, "yes\n"),
            step("execute", command="cd ~/Desktop; rm -rf plums; echo password | sudo -S mkdir -p figs", shell=True),
            step("launch", command=["gnome-terminal"]),
            step("execute_with_verification", command=["true"], verification={"window_exists": "Terminal"},
                 max_wait_time=60, check_interval=0.1),
            step("activate_window", window_name="Terminal"),
        ),
    ]
}  # fmt: skip


SCREEN = tuple(zip(("width", "height"), SIZE, strict=True))


class Server:
    def __init__(self, folder: Path) -> None:
        self._said = folder / "said"
        with open(self._said, "w") as said:
            fields = (f"run={folder / 'run'}", "port=0", "browser=False", *(f"{n}={v}" for n, v in SCREEN))
            self.process = subprocess.Popen(
                [sys.executable, "-m", "experiments", "osworld", *(f"--config.{field}" for field in fields)],
                cwd=ROOT, stdout=said, stderr=said, env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
            )  # fmt: skip

    def address(self) -> str:
        end = time.monotonic() + PATIENCE_S
        while (found := re.search(r'"servers": \["(.+?)"', self._said.read_text())) is None:
            assert self.process.poll() is None and time.monotonic() < end, self._said.read_text()
            time.sleep(0.1)
        return found[1]

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) in (0, -9)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    require_desktop()
    both = [Server(tmp_path_factory.mktemp("server")) for _ in range(2)]
    yield both
    for each in both:
        each.end()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("osworld"), TASKS)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_OSWORLD", str(scorers(tmp_path / "scorers")))


def make(checkout: Path, **options: Any) -> OSWorldEnvironment:
    given = {"settle": 0, "begun": 0, "size": SIZE, **options}
    return OSWorldEnvironment(read_benchmark("osworld", str(checkout)), **given)


async def begun(environment: OSWorldEnvironment) -> None:
    await environment.reset(Task("t", "osworld", 0, {"task": "rename"}, 9))


async def ended(environment: OSWorldEnvironment, command: str = "true") -> Transition:
    """The verdict, where the guest has run a command."""
    await environment._held.guest.execute(command, shell=True)
    return await environment.step([Finished("")])


RENAME = "mv ~/Desktop/figs ~/Desktop/plums"


def test_what_is_done_far_away_counts_and_a_server_that_dies_is_no_score(
    servers: list[Server], checkout: Path, tmp_path: Path
) -> None:
    file = tmp_path / "servers"
    file.write_text("\n".join(each.address() for each in servers))

    async def played() -> None:
        both = [make(checkout, servers=str(file)) for _ in range(2)]
        try:
            await asyncio.gather(*map(begun, both))  # two episodes at once are on two machines
            assert {each._held.address for each in both} == {each.address() for each in servers}  # type: ignore[attr-defined]
            if pyautogui_folder() is None:
                last = await ended(both[0], RENAME)
            else:  # by mouse and keyboard
                await both[0].step([Type(f"{RENAME}\n"), Wait(1.0)])
                last = await ended(both[0])
            assert (last.reward, last.success) == (1.0, True)
            pixels = last.observation.pixels
            assert pixels is not None and pixels.shape == (SIZE[1], SIZE[0], 3)
            assert (await ended(both[1])).reward == 0.0
            assert both[0].instruction.endswith("finished(content='FAIL').")

            await begun(both[0])
            on = next(each for each in servers if each.address() == both[0]._held.address)  # type: ignore[attr-defined]
            on.process.kill()
            on.process.wait()
            with pytest.raises(EnvironmentFailure) as lost:
                await ended(both[0], RENAME)
            assert lost.value.kind == "guest"
            await both[0].end()
            await begun(both[0])  # as episodes that were lost are: on the other
            assert both[0]._held.address != on.address()  # type: ignore[attr-defined]
            assert (await ended(both[0], RENAME)).reward == 1.0
        finally:
            for environment in both:
                await environment.close()

    asyncio.run(played())


async def taken(*names: str, away: str, held: str, revert: tuple[str, ...] = ()) -> Any:
    async def open(name: str, lock: Any) -> Any:
        lock.close()
        if name in (away, held):
            raise SandboxFailure("held" if name == held else "guest", "so it is")
        return name

    return await Machines(names, open, revert).take("snapshot")


def test_a_machine_that_is_away_or_held_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.envs.benchmarks.osworld.machines.AWAY_S", 0.2)
    monkeypatch.setattr("tars_jax.envs.benchmarks.osworld.machines.PATIENCE_S", 0.4)
    assert asyncio.run(taken("http://a:1", "http://b:1", "http://c:1", away="http://a:1", held="http://b:1")) == (
        "http://c:1"
    )
    with pytest.raises(EnvironmentFailure, match=r"for 0.2 s: http://a:1: guest: so it is") as error:
        asyncio.run(taken("http://any:secret-token@a:1", away="http://any:secret-token@a:1", held=""))
    assert error.value.kind == "guest" and "secret" not in str(error.value)
    with pytest.raises(EnvironmentFailure) as error:
        asyncio.run(taken("http://b:1", away="", held="http://b:1"))
    assert error.value.kind == "held"


@pytest.mark.parametrize(
    "server", ["10.0.0.7", "https://10.0.0.7:5000", "http://10.0.0.7", "http://10.0.0.7:5000/x", "http://any:t@:5"]
)
def test_servers_must_be_addresses(server: str) -> None:
    with pytest.raises(InputError, match="servers must be addresses such as http://10.0.0.7:5000"):
        check_servers([server])
    assert check_servers(["http://any:TOKEN@10.0.0.7:5000/"]) == ("http://any:TOKEN@10.0.0.7:5000",)


def test_a_server_with_another_token_or_screen_is_told(servers: list[Server], checkout: Path) -> None:
    living = next(each for each in servers if each.process.poll() is None).address()

    async def refused(**options: Any) -> str:
        environment = make(checkout, **options)
        try:
            with pytest.raises(InputError) as error:
                await begun(environment)
            return str(error.value)
        finally:
            await environment.close()

    async def both() -> None:
        wrong = re.sub("any:.*@", "any:another-token@", living)
        said = await refused(servers=[wrong])
        assert "servers must have each one's token" in said and "another-token" not in said
        assert "size must be that of the screen of servers, [640, 480]" in await refused(servers=[living], size=[9, 9])

    asyncio.run(both())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"servers": ["http://a:1"], "interface": "sdk"}, "interface must be gui with option servers; got 'sdk'"),
        ({"revert": ["true"]}, "revert must be left out without servers"),
        ({"servers": ["http://a:1"], "revert": [1]}, "revert must be the words of a command"),
        ({"servers": "no-such-file"}, "servers must be a list, or a file; got 'no-such-file'"),
        ({"resources": EnvironmentResources(sandbox=SandboxAddress("http://a:1", key="k" * 20))}, "by option servers"),
    ],
)
def test_options_that_cannot_be_are_refused(checkout: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make(checkout, **options)
