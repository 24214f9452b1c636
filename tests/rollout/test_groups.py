"""Episodes of prompts from the sandbox to the pool: reward functions over one and over a group, also after a kill."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shutil
import types
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.evaluation.result import reward_means, reward_metrics
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.groups import FOLDER, Groups
from tars_jax.rollout.players import Player, PrivilegedEnvironment
from tars_jax.rollout.pool import RolloutPool
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory

WRITER = PromptWriter(load_tokenizer(), 1, max_observation_tokens=32)
HERE = f"{__name__}:"
OPTIONS = {
    "data": "tars_jax.tasks.prompts.first_or_last:records",
    "rewards": {"tars_jax.tasks.prompts.first_or_last:exact": 1.0, f"{HERE}shortest": 0.5},
}
SAID = ("1", "22", "333", "4444")  # by the member of the group
asked: list[list[str]] = []


def shortest(completions: list[str]) -> list[float]:
    asked.append(completions)
    return [float(len(each) == min(map(len, completions))) for each in completions]


def away(completions: list[str]) -> list[float]:
    raise OSError("gone")


class Says:
    def __init__(self, text: str) -> None:
        self._text = text

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        written = tuple(WRITER.response(self._text))
        return Sampled(written, (0.0,) * len(written), (-1,) * len(written))


def members_say(texts: Sequence[str] = SAID) -> Player:
    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        yield Says(texts[privileged.member])

    return session


def tasks(count: int, **options: Any) -> list[Task]:
    return [Task(f"t{seed}", "prompts", 2 * seed, {**OPTIONS, **options}, 1) for seed in range(count)]


def play(folder: Path, played: Sequence[Task], workers: int, samples: int = 4) -> list[Trajectory]:
    with Rollouts(None, WRITER, AgentConfig("plain"), workers) as rollouts:
        return rollouts.play(played, members_say(), folder, samples=samples)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_group_is_asked_about_once_however_many_play(workers: int, tmp_path: Path) -> None:
    asked.clear()
    found = play(tmp_path, tasks(2), workers)
    assert [each.metadata["rewards"]["shortest"] for each in found] == [1.0, 0.0, 0.0, 0.0] * 2
    assert asked == [list(SAID)] * 2 and not list((tmp_path / FOLDER).iterdir())
    exact = [each.metadata["rewards"]["exact"] for each in found]
    assert [each.reward for each in found] == [one + 0.5 * (number % 4 == 0) for number, one in enumerate(exact)]
    assert load_trajectory(tmp_path / "00000003.trajectory").reward == found[3].reward
    assert reward_metrics(found)["rewards/shortest"] == 0.25
    assert reward_means(found, found[:1])["rewards"]["after"]["shortest"] == 1.0


def test_alone_a_member_is_its_own_group(tmp_path: Path) -> None:
    found = play(tmp_path, tasks(3), 2, samples=1)
    assert [each.metadata["rewards"]["shortest"] for each in found] == [1.0] * 3


def test_what_waits_for_its_group_outlives_a_kill(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    found = play(whole, tasks(1), 1)
    waiting = [dataclasses.replace(each, metadata={**each.metadata, "mark": 1}) for each in found]
    pending = {**waiting[0].metadata, "group_rewards": {f"{HERE}shortest": {"weight": 0.5, "name": "shortest"}}}

    async def waits() -> None:
        killed.mkdir()
        groups = Groups(killed, 4)
        for number in range(3):
            assert not await groups.ended(number, dataclasses.replace(waiting[number], metadata=pending))

    asyncio.run(waits())
    assert len(list((killed / FOLDER).iterdir())) == 3 and not list(killed.glob("*.trajectory"))
    again = play(killed, tasks(1), 2)
    assert ["mark" in each.metadata for each in again] == [True, True, True, False]
    assert len(list(killed.glob("*.trajectory"))) == 4 and not list((killed / FOLDER).iterdir())
    shutil.rmtree(killed)


def test_a_group_that_cannot_be_judged_has_failed_and_carries_no_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sleep(seconds: float) -> None:
        pass

    monkeypatch.setattr("tars_jax.judges.judge.asyncio", types.SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    assert play(tmp_path, tasks(1, rewards={f"{HERE}away": 1.0}), 1) == []
    lost = [load_trajectory(path) for path in sorted(tmp_path.glob("*.trajectory"))]
    assert [each.outcome for each in lost] == [Outcome.FAILED] * 4
    assert all(
        "away raised OSError: gone (tests/rollout/test_groups.py:" in each.metadata["infrastructure_failures"][0]
        for each in lost
    )


def test_a_member_that_failed_holds_nobody_up(tmp_path: Path) -> None:
    found = play(tmp_path / "whole", tasks(1), 1)
    pending = {**found[0].metadata, "group_rewards": {f"{HERE}shortest": {"weight": 0.5, "name": "shortest"}}}
    failed = dataclasses.replace(found[0], outcome=Outcome.FAILED, reward=0.0)

    async def go() -> list[tuple[int, Trajectory]]:
        (tmp_path / "pool").mkdir()
        groups = Groups(tmp_path / "pool", 2)
        assert await groups.ended(4, dataclasses.replace(found[1], metadata=pending)) == []
        return await groups.ended(5, failed)

    (fourth, told), (fifth, aside) = asyncio.run(go())
    assert (fourth, fifth) == (4, 5) and aside is failed and told.metadata["rewards"]["shortest"] == 1.0


def test_a_pool_takes_whole_groups_with_their_rewards(tmp_path: Path) -> None:
    pool = RolloutPool(tmp_path / "ppo", PoolConfig(min_batch=8, max_staleness=0, group_size=4, updates=1))
    given = tasks(2)
    with Rollouts(None, WRITER, AgentConfig("plain"), 3) as rollouts:
        with rollouts.streaming(pool, lambda group: given[group], members_say(), lambda: 0):
            assert pool.wait(30)
        batch = pool.take()
    assert batch is not None and len(batch) == 8
    assert sum(each.metadata["rewards"]["shortest"] for each in batch) == 2
