"""Environments that another Python plays: dialogs, limits, and all that can go wrong on either side of the pipe."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import ToolCall
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.foreign import environment as foreign
from tars_jax.envs.foreign.worker import PROGRAM, SharedWorker
from tars_jax.envs.registry import EnvironmentResources, known_environments, load_environment
from tars_jax.sandbox.browser.processes import is_alive
from tests.waiting import until, wait_until

pytestmark = pytest.mark.multiprocess
STAND_IN = Path(__file__).parent / "skyrl_stand_in"


@pytest.fixture(autouse=True)
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that has the stand-in for skyrl-gym."""
    begin = f"import sys, runpy; sys.path.insert(0, {str(STAND_IN)!r}); sys.argv = sys.argv[1:]"
    run = f"sys.path.insert(0, {str(PROGRAM)!r}); runpy.run_path({str(PROGRAM / '__main__.py')!r}, run_name='__main__')"
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nshift 3\nexec {sys.executable} -I -X utf8 -c "{begin}; {run}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("TARS_JAX_FOREIGN", str(program))
    return program


def options(folder: Path, id: str, rows: int = 10, **more: Any) -> dict[str, Any]:
    data = folder / "größe 你.jsonl"
    records = ({"prompt": [{"role": "user", "content": f"{n}?"}], "answer": str(n)} for n in range(rows))
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    return {"id": id, "args": {"data": str(data), "max_turns": 3}, **more}


@contextlib.asynccontextmanager
async def playing(chosen: Mapping[str, Any]) -> AsyncIterator[CheckedEnvironment]:
    environment = load_environment("skyrl_gym", chosen).checked(EnvironmentResources())
    try:
        yield environment
    finally:
        await environment.close()


def task(seed: int = 0, max_steps: int = 3) -> Task:
    return Task("t", "skyrl_gym", seed, {}, max_steps)


async def say(environment: CheckedEnvironment, *words: str) -> list[Transition]:
    return [await environment.step([ToolCall("answer", {"text": word})]) for word in words]


def test_a_dialog_and_its_reward(tmp_path: Path) -> None:
    async def go() -> None:
        async with playing(options(tmp_path, "sound")) as environment:
            first = await environment.reset(task())
            asked = environment.instruction
            assert first == Observation() and asked.endswith("?")
            one, two, three = await say(environment, "a", "b", asked[:-1])
            assert one.observation.text == "1 – 你说 a \u2028 🎉" and two.observation.text.startswith("2 – 你说 b")
            assert (one.reward, one.success, one.terminated) == (0.0, False, False)
            assert (three.reward, three.success, three.terminated) == (1.0, True, True)
            assert three.rewards == {"words": 3.0}
            await environment.reset(task())  # broken off by the next
            await environment.reset(task(2))
            assert environment.instruction != asked

    asyncio.run(go())


def test_the_last_turn_of_the_task_is_the_end(tmp_path: Path) -> None:
    async def go() -> list[Transition]:
        async with playing(options(tmp_path, "sound")) as environment:
            await environment.reset(task(max_steps=2))
            return await say(environment, "a", "b")

    first, last = asyncio.run(go())
    assert not first.truncated and last.truncated and not last.terminated and last.success is False
    assert last.observation.text.startswith("2 – 你说 b") and last.rewards == {"words": 2.0}


def test_many_at_once_share_one_worker(tmp_path: Path) -> None:
    async def one(environment: CheckedEnvironment, seed: int) -> tuple[str, float]:
        await environment.reset(task(seed))
        asked = environment.instruction
        transitions = await say(environment, "a", "b", asked[:-1])
        return asked, transitions[-1].reward

    async def go() -> list[tuple[str, float]]:
        spec = load_environment("skyrl_gym", options(tmp_path, "sound"))
        several = [spec.checked(EnvironmentResources()) for _ in range(8)]
        played = await asyncio.gather(*(one(each, 2 * number) for number, each in enumerate(several)))
        workers = {each._environment._worker for each in several}  # type: ignore[union-attr]
        assert len(workers) == 1
        for each in several:
            await each.close()
        return list(played)

    played = asyncio.run(go())
    assert [reward for _, reward in played] == [1.0] * 8 and len({asked for asked, _ in played}) == 8


def test_sides_are_apart(tmp_path: Path) -> None:
    levels = load_environment("skyrl_gym", options(tmp_path, "sound", held_out=0.3)).levels
    assert levels is not None and (levels.count("train"), levels.count("eval")) == (7, 3)
    seeds = [levels.seed("eval", index, 5) for index in range(3)]
    assert all(seed % 2 for seed in seeds) and len(set(seeds)) == 3

    async def asked(seeds: Sequence[int]) -> set[str]:
        found = set()
        async with playing(options(tmp_path, "sound", held_out=0.3)) as environment:
            for seed in seeds:
                await environment.reset(task(seed))
                found.add(environment.instruction)
        return found

    held_out = asyncio.run(asked(seeds))
    trained = asyncio.run(asked([levels.seed("train", index, 5) for index in range(7)]))
    assert len(held_out) == 3 and len(trained) == 7 and not held_out & trained


@pytest.mark.parametrize(
    ("id", "kind", "said"),
    [
        ("raises", "exception", "skyrl_gym raises raised ValueError: no more 你好"),
        ("exits", "exception", "SystemExit: enough"),
        ("no_number", "exception", "not JSON compliant"),
        ("dies", "worker", "the worker has ended with 3: .*its last words"),
    ],
)
def test_one_that_fails(tmp_path: Path, id: str, kind: str, said: str) -> None:
    """It is no reward, and the next episode begins."""

    async def go() -> None:
        async with playing(options(tmp_path, id)) as environment:
            for _ in range(2):
                await environment.reset(task())
                with pytest.raises(EnvironmentFailure, match=said) as failure:
                    await say(environment, "a", "b", "c")
                assert failure.value.kind == kind

    asyncio.run(go())


@pytest.mark.parametrize("id", ["hangs", "blocks"])
def test_one_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id: str) -> None:
    monkeypatch.setattr(foreign, "STOPPING_S", 0.2)

    async def go() -> None:
        async with playing(options(tmp_path, id, time_limit=1.0)) as environment:
            await environment.reset(task())
            worker = environment._environment._worker  # type: ignore[union-attr]
            with pytest.raises(EnvironmentFailure, match="took more than 1 s") as failure:
                await say(environment, "a", "b")
            assert failure.value.kind == "timeout"
            if id == "blocks":  # nothing else gets it to listen
                await until(lambda: not worker.alive)

    asyncio.run(go())


def test_a_worker_that_stands_still_holds_up_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a message that is longer than a pipe holds."""
    monkeypatch.setattr(foreign, "STOPPING_S", 0.2)

    async def go() -> None:
        async with playing(options(tmp_path, "sound", time_limit=1.0)) as environment:
            await environment.reset(task())
            worker = environment._environment._worker  # type: ignore[union-attr]
            os.kill(worker._process.pid, signal.SIGSTOP)
            with pytest.raises(EnvironmentFailure, match="took more than 1 s"):
                await say(environment, "a" * 2**20)
            await until(lambda: not worker.alive)

    asyncio.run(go())


def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    async def go() -> None:
        async with playing(options(tmp_path, "sound")) as environment:
            await environment.reset(task())
            await say(environment, "a")
            os.kill(environment._environment._worker._process.pid, signal.SIGKILL)  # type: ignore[union-attr]
            with pytest.raises(EnvironmentFailure, match="the worker has ended with -9") as failure:
                await say(environment, "b")
            assert failure.value.kind == "worker"
            await environment.reset(task())
            assert len(await say(environment, "a", "b", "c")) == 3

    asyncio.run(go())


def test_a_worker_whose_owner_is_killed(tmp_path: Path) -> None:
    code = f"""import time
from tars_jax.envs.foreign.worker import SharedWorker
from tars_jax.envs.registry import load_environment
load_environment("skyrl_gym", {options(tmp_path, "sound")!r})
print(SharedWorker._idle[0]._worker._process.pid, flush=True)
time.sleep(1e6)"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        worker = int(owner.stdout.readline())
        assert is_alive(worker)
        owner.kill()
    wait_until(lambda: not is_alive(worker))


def test_idle_workers_are_few(tmp_path: Path) -> None:
    for seed in range(4):
        load_environment("skyrl_gym", options(tmp_path, "sound", seed=seed))
    idle = [each._worker for each in SharedWorker._idle]
    assert len(idle) == 2 and all(worker is not None and worker.alive for worker in idle)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": 3}, "option id must be text; got 3"),
        ({"ids": "x"}, "an option must be one of id, args, .*; got 'ids'"),
        ({"args": []}, "option args must be an object"),
        ({"args": {"data": "/nowhere.jsonl"}}, "option id must name an environment of skyrl_gym .*No such file"),
        ({"args": {"date": "x"}}, "unexpected keyword argument 'date'"),
        ({"time_limit": 0}, "option time_limit must be a number from 0.001"),
    ],
)
def test_bad_options(tmp_path: Path, change: Mapping[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_environment("skyrl_gym", {**options(tmp_path, "sound"), **change})


def test_no_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="data must hold records; got none in skyrl_gym sound"):
        load_environment("skyrl_gym", options(tmp_path, "sound", rows=0))


def test_no_package(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"verifiers", "skyrl_gym"} <= set(known_environments())
    with pytest.raises(InputError, match=r"No module named 'verifiers'.*launch/foreign.sh"):
        load_environment("verifiers", {"id": "x"})
    monkeypatch.setenv("TARS_JAX_FOREIGN", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"verifiers must be installed .*\./launch/foreign.sh makes it"):
        load_environment("verifiers", {"id": "x"})
    python.write_text("no program")
    monkeypatch.setenv("TARS_JAX_FOREIGN", str(python))
    with pytest.raises(InputError, match="must be a Python that has verifiers; got .*format"):
        load_environment("verifiers", {"id": "x"})
