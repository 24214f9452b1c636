"""OSWorld's own tasks, where TARS_JAX_OSWORLD_TASKS is a checkout of its evaluation_examples: what can be played here.

    ./launch/osworld.sh --applications
    export TARS_JAX_OSWORLD_TASKS=OSWorld/evaluation_examples
    ./launch/test.sh tests/envs/benchmarks/test_osworld_public.py --all

Doing nothing is 0, a state written from a shell is 1, and so is what mouse and keyboard alone do.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from tars_jax.agent.actions import CallUser, Finished
from tars_jax.environment import Task, Transition
from tars_jax.envs.benchmarks.osworld import OSWorldEnvironment
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.osworld import OSWORLD, read
from tests.envs.benchmarks.osworld_gold import GOLD
from tests.envs.benchmarks.osworld_plays import PLAYS, Turn

CHECKOUT = os.environ.get("TARS_JAX_OSWORLD_TASKS", "")
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.full,
    pytest.mark.skipif(not CHECKOUT, reason="TARS_JAX_OSWORLD_TASKS is not the folder of OSWorld's tasks"),
]
CHROME_S = 12.0  # within which it has written its preferences


def playable(infeasible: bool) -> list[BenchmarkTask]:
    found = [task for task in read(Path(CHECKOUT)) if not task.left_out] if CHECKOUT else []
    return [task for task in found if (task.record["evaluator"]["func"] == "infeasible") == infeasible]


FEASIBLE = [pytest.param(task.id, id=task.id) for task in playable(False)]
OF_CHROME = [task.id for task in playable(False) if task.group == "chrome"]
INFEASIBLE = [pytest.param(task.id, id=task.id) for task in playable(True)]


def play(
    name: str, turns: Sequence[Turn], first: Callable[[OSWorldEnvironment], Awaitable[None]] | None = None,
    settle: float = 0.0,
) -> Transition:  # fmt: skip
    async def played() -> Transition:
        environment = OSWorldEnvironment(BenchmarkTasks(OSWORLD, Path(CHECKOUT), (name,)), settle=settle)
        try:
            await environment.reset(Task("t", "osworld", 0, {"task": name}, len(turns)))
            if first is not None:
                await first(environment)
            for turn in turns:
                last = await environment.step(turn)
            return last
        finally:
            await environment.close()

    return asyncio.run(played())


@pytest.mark.parametrize("name", [*FEASIBLE, *INFEASIBLE])
def test_doing_nothing_is_zero(name: str) -> None:
    last = play(name, [[Finished("")]], settle=CHROME_S if name in OF_CHROME else 2.0)
    assert last.reward == 0.0, last.observation.info["benchmark"]


@pytest.mark.parametrize("name", INFEASIBLE)
def test_giving_up_is_one_where_nothing_can_be_done(name: str) -> None:
    assert play(name, [[CallUser()]]).reward == 1.0


@pytest.mark.parametrize("name", FEASIBLE)
def test_a_state_that_is_right_is_one(name: str) -> None:
    script = GOLD[name.rpartition("/")[2]]

    async def written(environment: OSWorldEnvironment) -> None:
        assert (await environment.shell(script)).status == 0

    last = play(name, [[Finished("")]], written)
    assert last.reward == 1.0, last.observation.info["benchmark"]


@pytest.mark.parametrize("name", FEASIBLE)
def test_mouse_and_keyboard_are_enough(name: str) -> None:
    settle = CHROME_S if name in OF_CHROME else 2.0
    last = play(name, [*PLAYS[name.rpartition("/")[2]], [Finished("")]], settle=settle)
    assert last.reward == 1.0, last.observation.info["benchmark"]
