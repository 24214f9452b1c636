"""Real games in a real browser: played to their ends, kept, retried when the browser dies, streamed into the pool."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import GaveUp
from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs import BrowserGame
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.episode_runner import ATTEMPTS, EnvironmentRunner, Rollouts
from tars_jax.rollout.players import EpisodeRunnerLost, Player, PrivilegedEnvironment, reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.remote_policy import MOST_LOST, waiting_player
from tars_jax.rollout.timeline import TIMELINE_FILE, Timeline
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
WRITER = PromptWriter(load_tokenizer(), image_tokens=36)
WORKERS = 3


def task(index: int) -> Task:
    return sample_task("maze_path_of_light", "train", index, 0, {"distance": [2, 3]}, max_steps=5)


TASKS = [task(index) for index in range(6)]


@pytest.fixture(scope="module")
def rollouts(descendants: Callable[[int], dict[int, bytes]]) -> Iterator[Rollouts]:
    before = descendants(os.getpid()).keys()
    with Rollouts(BrowserConfig(browsers=1, pages_per_browser=WORKERS), WRITER, AgentConfig(), WORKERS) as running:
        yield running
        started = descendants(os.getpid()).keys() - before
    assert started and not started & descendants(os.getpid()).keys()


@pytest.fixture
def reference() -> Player:
    return reference_player(WRITER, "text", skill=1.0)


def nobody(privileged: PrivilegedEnvironment, task: Task) -> Any:
    raise AssertionError("no episode was to be played")


def interrupted(player: Player, before: Callable[[Task, int], None]) -> Player:
    """The same player; `before(task, turn)` is called at each of its turns."""

    class Session:
        def __init__(self, session: PolicySession, task: Task) -> None:
            self._session, self._task, self._turn = session, task, 0

        async def respond(self, tokens: Sequence[int], images: Sequence[Any], *, restart: bool) -> Any:
            before(self._task, self._turn)
            self._turn += 1
            return await self._session.respond(tokens, images, restart=restart)

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with player(privileged, task) as inner:
            yield Session(inner, task)

    return session


def check_won(trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> None:
    assert [trajectory.task for trajectory in trajectories] == [task.to_json() for task in tasks]
    for trajectory in trajectories:
        assert (trajectory.outcome, trajectory.reward) == (Outcome.FINISHED, 1.0)
        distance = trajectory.steps[0].info["state"]["start_distance"]
        assert len(trajectory.steps) == distance == trajectory.steps[0].info["state"]["distance"]


def test_a_list_is_played_and_kept(rollouts: Rollouts, reference: Player, tmp_path: Path) -> None:
    counts: list[int] = []
    played = rollouts.play(TASKS, reference, tmp_path, lambda done, trajectory: counts.append(done))
    check_won(played, TASKS)
    assert counts == [1, 2, 3, 4, 5, 6]
    assert all(trajectory.metadata["infrastructure_failures"] == [] for trajectory in played)
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sorted(times) == [f"{index:08d}.trajectory" for index in range(6)]

    again = rollouts.play(TASKS, nobody, tmp_path)
    assert [each.id for each in again] == [each.id for each in played]
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_a_killed_browser_costs_no_episode(
    rollouts: Rollouts, reference: Player, kill_browsers: Callable[[int], list[int]], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(task: Task, turn: int) -> None:
        if turn == 1 and not killed:
            killed.extend(kill_browsers(os.getpid()))

    played = rollouts.play(TASKS, interrupted(reference, kill), tmp_path)
    check_won(played, TASKS)
    retried = [trajectory for trajectory in played if trajectory.metadata["infrastructure_failures"]]
    assert killed and 1 <= len(retried) <= WORKERS
    assert {load_trajectory(path).outcome for path in tmp_path.iterdir()} == {Outcome.FINISHED}


def test_a_sandbox_that_never_works_carries_no_reward(
    rollouts: Rollouts, reference: Player, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset, tries = BrowserGame.reset, []

    async def broken(game: BrowserGame, task: Task) -> Any:
        if task == TASKS[1]:
            tries.append(1)
            raise EnvironmentFailure("browser", "no such luck")
        return await reset(game, task)

    monkeypatch.setattr(BrowserGame, "reset", broken)
    check_won(rollouts.play(TASKS[:3], reference, tmp_path), [TASKS[0], TASKS[2]])
    failed = load_trajectory(tmp_path / "00000001.trajectory")
    assert (failed.outcome, failed.windows, failed.reward) == (Outcome.FAILED, (), 0.0)
    assert len(failed.metadata["infrastructure_failures"]) == len(tries) == ATTEMPTS

    pool = RolloutPool(tmp_path / "pool", PoolConfig(min_batch=2, max_staleness=0))
    with rollouts.streaming(pool, task, reference, lambda: 0):
        assert pool.wait(PATIENCE_S)
    assert pool.counts()["failed"] == 1 and pool.ready() == 2
    check_won(sorted(pool.take() or [], key=lambda each: each.id), [TASKS[0], TASKS[2]])


def test_a_page_that_fails_by_itself_ends_no_run(rollouts: Rollouts, reference: Player, tmp_path: Path) -> None:
    """Once: the episode is played again. Always: it carries no reward, and the others' are played."""
    times = 0

    def fail(task: Task, turn: int) -> None:
        nonlocal times
        if task in (TASKS[1], TASKS[2]) and turn == 1 and not (task == TASKS[1] and times):
            times += task == TASKS[1]
            raise EnvironmentFailure("page", "the page began an episode that nobody asked for")

    check_won(rollouts.play(TASKS[:4], interrupted(reference, fail), tmp_path), [TASKS[0], TASKS[1], TASKS[3]])
    again, failed = (load_trajectory(tmp_path / f"{index:08d}.trajectory") for index in (1, 2))
    said = ["page: the page began an episode that nobody asked for"]
    assert again.metadata["infrastructure_failures"] == said
    assert (failed.outcome, failed.reward) == (Outcome.FAILED, 0.0)
    assert failed.metadata["infrastructure_failures"] == ATTEMPTS * said
    lost = failed.metadata["lost"]  # of the last try
    assert lost["steps"] == len(lost["turns"]) >= 1 and all(turn["action"] for turn in lost["turns"])
    assert lost["tokens_read"] > 0 and lost["tokens_written"] > 0 and "lost" not in again.metadata


def test_the_pool_is_filled_up_to_its_bound(rollouts: Rollouts, reference: Player, tmp_path: Path) -> None:
    version = 0
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=1))
    with rollouts.streaming(pool, task, reference, lambda: version) as running:
        for bound in (4, 6):  # (version + 1 + 1) * 2
            wait_until(lambda: (pool.counts()["ready"] + pool.counts()["consumed"]) >= bound)  # noqa: B023
            time.sleep(0.2)
            counts = pool.counts()
            assert (counts["in_flight"], counts["ready"] + counts["consumed"]) == (0, bound)
            assert len(pool.take() or []) == 2
            version += 1
        assert not running.done()


def test_a_stream_that_is_stopped_gives_its_tasks_back(rollouts: Rollouts, reference: Player, tmp_path: Path) -> None:
    class Thinking:
        async def respond(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(60)

    @contextlib.asynccontextmanager
    async def thinking(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        yield Thinking()

    pool = RolloutPool(tmp_path / "pool", PoolConfig(min_batch=8, max_staleness=0))
    with rollouts.streaming(pool, task, thinking, lambda: 0):
        wait_until(lambda: pool.counts()["in_flight"] >= WORKERS)
    assert pool.counts() == {"requeued": WORKERS, "in_flight": 0, "ready": 0, "consumed": 0, "filtered": 0, "failed": 0}
    check_won(rollouts.play(TASKS[:3], reference, tmp_path / "list"), TASKS[:3])


def test_an_error_of_a_player_ends_the_stream(rollouts: Rollouts, tmp_path: Path) -> None:
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=8, max_staleness=0))
    with (
        rollouts.streaming(pool, task, nobody, lambda: 0) as running,
        pytest.raises(ExceptionGroup) as caught,
    ):
        running.result(10)
    assert caught.group_contains(AssertionError, match="no episode was to be played")
    assert pool.counts()["in_flight"] == 0


def test_the_timeline_shows_what_every_worker_did(reference: Player, tmp_path: Path) -> None:
    with Timeline(tmp_path) as timeline:
        activity = Activity(timeline)
        browser = BrowserConfig(browsers=1, pages_per_browser=2)
        with Rollouts(browser, WRITER, AgentConfig(), 2, activity) as rollouts:
            played = rollouts.play(TASKS[:4], reference, tmp_path / "list")
    events = [event for event in json.loads((tmp_path / TIMELINE_FILE).read_text()) if event["ph"] == "X"]
    steps = sum(len(trajectory.steps) for trajectory in played)
    names = collections.Counter(event["name"] for event in events)
    assert names == {"reset": 4, "think": steps, "act": steps, "store": 4}
    for worker in range(2):
        mine = sorted((event for event in events if event["tid"] == worker), key=lambda event: event["ts"])
        assert mine and all(a["ts"] + a["dur"] <= b["ts"] for a, b in itertools.pairwise(mine))
        told = "".join(event["name"][0] for event in mine)
        assert re.fullmatch("(r(ta)+s)+", told)


def test_a_group_plays_one_task_with_members_of_their_own(
    rollouts: Rollouts, reference: Player, tmp_path: Path
) -> None:
    members: list[tuple[str, int]] = []

    def noting(privileged: PrivilegedEnvironment, task: Task) -> Any:
        members.append((task.id, privileged.member))
        return reference(privileged, task)

    pool = RolloutPool(tmp_path, PoolConfig(min_batch=4, max_staleness=0, group_size=2))
    with rollouts.streaming(pool, task, noting, lambda: 0):
        assert pool.wait(PATIENCE_S)
    played = [each.task for each in pool.take() or []]
    assert [each["id"] for each in played] in (
        [TASKS[a].id, TASKS[a].id, TASKS[b].id, TASKS[b].id] for a, b in ((0, 1), (1, 0))
    )
    assert sorted(members) == sorted((TASKS[group].id, member) for group in (0, 1) for member in (0, 1))


def test_a_lost_seat_costs_time_and_its_episode_is_played_elsewhere(
    rollouts: Rollouts, reference: Player, tmp_path: Path
) -> None:
    lost: list[str] = []

    def lose(task: Task, turn: int) -> None:
        if turn == 1 and len(lost) < 3:
            lost.append(task.id)
            raise EpisodeRunnerLost("gone")

    before = rollouts.runners_lost
    check_won(rollouts.play(TASKS, interrupted(reference, lose), tmp_path), TASKS)
    assert rollouts.runners_lost - before == len(lost) == 3


def test_a_policy_that_is_away_costs_time_only(
    rollouts: Rollouts, reference: Player, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = itertools.count()

    def away(task: Task, turn: int) -> None:
        if turn == 1 and next(refusals) < 5:
            raise ConnectionRefusedError("no server")

    player = waiting_player(interrupted(reference, away), ConnectionError, pause=0.01, patience=60)
    check_won(rollouts.play(TASKS[:3], player, tmp_path), TASKS[:3])
    assert next(refusals) > 5
    assert [record.getMessage() for record in caplog.records] == [
        "the policy is away, and episodes wait for it, 60 seconds at most: no server"
    ]


def test_a_policy_that_is_away_for_good_ends_the_run(rollouts: Rollouts, reference: Player, tmp_path: Path) -> None:
    """What was played stays, and what was not is played by the next run."""
    begun: set[str] = set()

    def away(task: Task, turn: int) -> None:
        begun.add(task.id)
        if len(begun) > 3:
            raise ConnectionRefusedError("no server")

    player = waiting_player(interrupted(reference, away), ConnectionError, pause=0.01, patience=0.5)
    with pytest.raises(ExceptionGroup) as caught:
        rollouts.play(TASKS, player, tmp_path)
    assert caught.group_contains(GaveUp, match=r"has been away for . seconds: no server\.")
    kept = len(list(tmp_path.glob("*.trajectory")))
    begun.clear()
    check_won(rollouts.play(TASKS, waiting_player(reference, ConnectionError, 0.01, 0.5), tmp_path), TASKS)
    assert kept < len(TASKS) and len(list(tmp_path.glob("*.trajectory"))) == len(TASKS)


def test_a_policy_that_fails_at_one_episode_alone_does_not_hold_up_the_others(
    rollouts: Rollouts, reference: Player, tmp_path: Path
) -> None:
    tries = itertools.count()

    def fail(task: Task, turn: int) -> None:
        if task.id == TASKS[1].id and turn == 1 and next(tries) >= 0:
            raise ConnectionError("status 500")

    player = waiting_player(interrupted(reference, fail), ConnectionError, pause=0.01, patience=600)
    check_won(rollouts.play(TASKS[:3], player, tmp_path), [TASKS[0], TASKS[2]])
    lost = load_trajectory(tmp_path / "00000001.trajectory")
    words = f"policy: the policy failed at this episode {MOST_LOST} times: status 500"
    assert (lost.outcome, lost.metadata["infrastructure_failures"]) == (Outcome.FAILED, [words])
    assert next(tries) == MOST_LOST


def test_without_a_seat_the_stream_ends_with_an_error(
    rollouts: Rollouts, reference: Player, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(runner: EnvironmentRunner) -> None:
        raise EpisodeRunnerLost("gone for good")

    monkeypatch.setattr(EnvironmentRunner, "ready", never)
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=8, max_staleness=0))
    with (
        rollouts.streaming(pool, task, reference, lambda: 0) as running,
        pytest.raises(EpisodeRunnerLost, match="all 3 runners are lost"),
    ):
        running.result(10)
    assert pool.counts()["in_flight"] == 0
