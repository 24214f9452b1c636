"""A stream with everything in it is hurt at moments drawn from a seed, and ends as if nothing had happened.

The run is a process of its own (chaos_run.py). Even tasks are played by the reference player, who always wins: an
infrastructure failure that became a reward would be a reward of 0 there. Odd ones are played by the policy.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tars_jax.trajectory import Outcome
from tars_jax.trajectory.files import load_trajectory
from tests.waiting import wait_until

SECONDS = 540  # before a run counts as hung; on two idle cores each takes a few
pytestmark = [pytest.mark.browser, pytest.mark.multiprocess, pytest.mark.timeout(2 * SECONDS)]
ROOT = pathlib.Path(__file__).parents[2]
RUN = pathlib.Path(__file__).with_name("chaos_run.py")
UPDATES, BATCH = 6, 4
EPISODES = UPDATES * BATCH
Start = Callable[[pathlib.Path, int], subprocess.Popen[str]]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """start(folder, lose): a run, which does not outlive the tests."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started: list[subprocess.Popen[str]] = []

    def run(folder: pathlib.Path, lose: int) -> subprocess.Popen[str]:
        folder.mkdir(exist_ok=True)
        command = [sys.executable, str(RUN), str(folder), str(UPDATES), str(BATCH), str(lose)]
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def trained(folder: pathlib.Path) -> list[list[str]]:
    return json.loads((folder / "checkpoint.json").read_text())["trained"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, start: Start) -> list[str]:
    """The ids of the trajectories that a run trains on which nobody hurts."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run = start(folder, 0)
    run.communicate(timeout=SECONDS)
    assert run.returncode == 0
    return sorted(id for batch in trained(folder) for id in batch)


def wait_for_episodes(folder: pathlib.Path, count: int, run: subprocess.Popen[str]) -> None:
    def there() -> bool:
        assert run.poll() is None, "the run has ended early"
        return len(list((folder / "pool").glob("*.trajectory"))) >= count

    wait_until(there)


def test_the_run_ends_as_an_undisturbed_one(
    undisturbed: list[str],
    chaos_seed: int,
    descendants: Callable[[int], dict[int, bytes]],
    tmp_path: pathlib.Path,
    start: Start,
) -> None:
    rng = random.Random(chaos_seed)
    folder = tmp_path / "run"
    victims = ["learner", "browser", "browser", "learner"]
    rng.shuffle(victims)
    moments = sorted(rng.sample(range(EPISODES - BATCH), len(victims)))
    run = start(folder, chaos_seed + 1)
    killed_browsers = 0
    for victim, moment in zip(victims, moments, strict=True):
        wait_for_episodes(folder, moment, run)
        time.sleep(rng.uniform(0, 0.2))
        below = descendants(run.pid)
        if victim == "browser":
            mains = [pid for pid, line in below.items() if b"--user-data-dir" in line and b"--type=" not in line]
            if mains:  # right after a start there is none yet
                with contextlib.suppress(ProcessLookupError):  # a script around a browser ends with it
                    os.kill(rng.choice(sorted(mains)), signal.SIGKILL)
                killed_browsers += 1
            continue
        run.send_signal(signal.SIGKILL)
        run.communicate()
        gone = set(below.items())
        wait_until(lambda: not gone & set(descendants(1).items()))  # noqa: B023
        run = start(folder, chaos_seed + 1)
    run.communicate(timeout=SECONDS)
    assert run.returncode == 0

    batches = trained(folder)
    assert [len(batch) for batch in batches] == [BATCH] * UPDATES
    assert sorted(id for batch in batches for id in batch) == undisturbed
    result = json.loads((folder / "result.json").read_text())
    places = {name: result[name] for name in ("requeued", "in_flight", "ready", "consumed", "failed")}
    assert places == {"requeued": 0, "in_flight": 0, "ready": 0, "consumed": EPISODES, "failed": 0}

    stored = [load_trajectory(path) for path in (folder / "pool").glob("*.trajectory")]
    assert sorted(trajectory.id for trajectory in stored) == undisturbed
    for trajectory in stored:
        if int(trajectory.id.split("-")[0]) % 2 == 0:
            assert (trajectory.outcome, trajectory.reward) == (Outcome.FINISHED, 1.0)
        assert trajectory.outcome.carries_reward
        assert len(trajectory.metadata["infrastructure_failures"]) <= killed_browsers
