"""Rollout workers: they play what a source hands out, on this machine or on others.

A worker is a runner (a page in a browser of this process, or one that a Ray actor holds) and the loop below. The loops
run in a thread of their own, so that the learner's updates and the rollouts go on side by side. A runner that is lost
with its episode costs time and nothing else: the number goes back and is claimed again first.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from tars_jax.environment import Task
from tars_jax.rollout.activity import Activity, now
from tars_jax.rollout.config import WHOLE, Share
from tars_jax.rollout.groups import Groups
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.players import EpisodeRunnerLost, Player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.sources import MOST_LOST, Assignment, ListSource, PoolSource, Source
from tars_jax.rollout.timeline import TrackOwner
from tars_jax.rollout.unjudged import Unjudged
from tars_jax.trajectory import Trajectory

IDLE_SECONDS = 0.02
LOST_EACH = 4  # episodes in a row for each runner, or each member of a group, where that is more than MOST_LOST

T = TypeVar("T")
Record = Callable[[str, float, float], None]  # what, from when, to when


class EpisodeRunner(Protocol):
    """Plays episodes, one at a time."""

    async def ready(self) -> None:
        """Waits until an episode can start. Raises EpisodeRunnerLost when that will not be so any more."""
        ...

    async def episode(self, assignment: Assignment, player: Player, record: Record) -> Trajectory:
        """Plays to an outcome, which is FAILED where the infrastructure failed too often.

        Raises EpisodeRunnerLost when the episode is gone with what played it.
        """
        ...


class RolloutWorkers(abc.ABC):
    """Episode runners and their workers. Use as a context manager: nothing is left running after it."""

    def __init__(self, activity: Activity | None = None) -> None:
        self.activity = activity or Activity()
        self._runners: Sequence[EpisodeRunner] = ()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rollouts", daemon=True)
        self.runners_lost = 0
        self.unjudged = Unjudged()  # of what is streamed, or was played last
        self.lost, self.last_loss = 0, ""  # episodes of those that were played last; why the last of these was

    @abc.abstractmethod
    async def _open(self) -> Sequence[EpisodeRunner]:
        """Starts whatever the runners need."""

    @abc.abstractmethod
    async def _close(self) -> None:
        """Ends all that `_open` has started, also when that has failed half-way."""

    @abc.abstractmethod
    async def _rest(self) -> None:
        """Called while nothing is played: runners may give up what they can have again."""

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._runners = self._call(self._open())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def play(
        self,
        tasks: Sequence[Task],
        player: Player,
        folder: Path,
        on_finish: Callable[[int, Trajectory], None] = lambda done, trajectory: None,
        samples: int = 1,
        share: Share = WHOLE,
    ) -> list[Trajectory]:
        """Plays all tasks to their ends, in order of `tasks`; those already in `folder` are read back.

        Each task is played `samples` times, one after the other in the result. FAILED episodes are left out, tasks that
        are not of the `share`, and tasks that their judge cannot tell; `unjudged` counts these.
        `on_finish(done, trajectory)` is called from the rollouts' thread.
        """
        source = ListSource(tasks, folder, on_finish, samples, share)
        with self._working(source, player) as running:
            running.result()
        self.unjudged = Unjudged.of(source.done.values())
        self.lost, self.last_loss = source.lost, source.last_loss
        played = [trajectory for _, trajectory in sorted(source.done.items()) if trajectory.outcome.carries_reward]
        return [trajectory for trajectory in played if not self.unjudged.drops(trajectory.task)]

    @contextlib.contextmanager
    def streaming(
        self, pool: RolloutPool | MixedPool, task_of: Callable[[int], Task], player: Player, version: Callable[[], int]
    ) -> Iterator[Future[None]]:
        """Keeps the pool filled while the block runs; `task_of` draws the task of a group, once for each.

        What was played before a resume counts in `unjudged`, too. The future ends early only with the workers' error,
        InputError where one episode after the other fails.
        """
        most_lost = max(MOST_LOST, LOST_EACH * max(len(self._runners), pool.config.group_size)) * pool.stride
        self.unjudged = Unjudged.of(pool.outlines())
        with self._working(PoolSource(pool, task_of, version, most_lost, self.unjudged), player) as running:
            yield running

    @contextlib.contextmanager
    def _working(self, source: Source, player: Player) -> Iterator[Future[None]]:
        """All workers at `source`; when the block is left, however that is, they have ended and given back theirs."""

        async def begin() -> asyncio.Task[None]:
            return asyncio.create_task(self._work(source, player))

        async def outcome() -> None:
            await task

        async def end() -> None:
            task.cancel()
            await asyncio.wait([task])
            await self._rest()

        task = self._call(begin())
        try:
            yield asyncio.run_coroutine_threadsafe(outcome(), self._loop)
        finally:
            self._call(end())

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _work(self, source: Source, player: Player) -> None:
        groups = Groups(source.folder, source.group_size)
        async with asyncio.TaskGroup() as group:
            for number, runner in enumerate(self._runners):
                group.create_task(self._worker(number, runner, source, player, groups))
        if not source.exhausted():
            raise EpisodeRunnerLost(f"all {len(self._runners)} runners are lost")

    async def _worker(self, number: int, runner: EpisodeRunner, source: Source, player: Player, groups: Groups) -> None:
        record = functools.partial(self.activity.add, TrackOwner.WORKERS, number)
        while not source.exhausted():
            try:
                await runner.ready()
            except EpisodeRunnerLost:
                return
            assignment = source.claim()
            if assignment is None:
                await asyncio.sleep(IDLE_SECONDS)
                continue
            index = assignment.index
            try:
                trajectory = groups.kept(index, assignment.task) or await runner.episode(assignment, player, record)
                ended = await groups.ended(index, trajectory)
                stored = now()
                for member, whole in ended:
                    source.finish(member, whole)
                    groups.forget(member)
            except EpisodeRunnerLost:
                self.runners_lost += 1
                source.abandon(index)
            except BaseException:
                source.abandon(index)
                raise
            else:
                record("store", stored, now())
