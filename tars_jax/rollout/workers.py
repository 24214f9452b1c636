"""Asynchronous workers: each drives one page through one episode after another.

They run in a thread of their own, so that the learner's updates and the rollouts go on side by side. An infrastructure
failure is retried in a fresh page, a few times; then it is recorded as FAILED, which carries no reward.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.envs import BrowserGame
from tars_jax.rollout.players import Player, Watched
from tars_jax.rollout.pool import RolloutPool
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, SandboxFailure
from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.task import Task
from tars_jax.trajectory import Outcome, Trajectory, load_trajectory, save_trajectory

IDLE_SECONDS = 0.02
ATTEMPTS = 3

T = TypeVar("T")


class _Source(Protocol):
    """Where a worker takes its episodes from and brings them to."""

    def claim(self) -> tuple[int, Task] | None:
        """The next episode; None when there is none at the moment."""
        ...

    def exhausted(self) -> bool:
        """Whether there will never be another one."""
        ...

    def finish(self, index: int, trajectory: Trajectory) -> None: ...

    def abandon(self, index: int) -> None: ...


@dataclasses.dataclass
class _ListSource:
    """A fixed list of tasks, each kept as a file when it is finished and not played again after a restart."""

    tasks: Sequence[Task]
    folder: Path
    on_finish: Callable[[int, Trajectory], None]

    def __post_init__(self) -> None:
        self.done: dict[int, Trajectory] = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        for index in range(len(self.tasks)):
            if self._path(index).exists():
                self.done[index] = load_trajectory(self._path(index))
        self._open = [index for index in reversed(range(len(self.tasks))) if index not in self.done]

    def _path(self, index: int) -> Path:
        return self.folder / f"{index:08d}.trajectory"

    def claim(self) -> tuple[int, Task] | None:
        if not self._open:
            return None
        index = self._open.pop()
        return index, self.tasks[index]

    def exhausted(self) -> bool:
        return not self._open

    def finish(self, index: int, trajectory: Trajectory) -> None:
        save_trajectory(self._path(index), trajectory)
        self.done[index] = trajectory
        self.on_finish(len(self.done), trajectory)

    def abandon(self, index: int) -> None:
        self._open.append(index)


@dataclasses.dataclass
class _PoolSource:
    """The learner's pool: endless, but never further ahead than the staleness bound allows."""

    pool: RolloutPool
    task_of: Callable[[int], Task]
    version: Callable[[], int]

    def claim(self) -> tuple[int, Task] | None:
        index = self.pool.claim(self.version())
        return None if index is None else (index, self.task_of(index))

    def exhausted(self) -> bool:
        return False

    def finish(self, index: int, trajectory: Trajectory) -> None:
        self.pool.finish(index, trajectory)

    def abandon(self, index: int) -> None:
        self.pool.abandon(index)


class Rollouts:
    """A browser manager and its workers. Use as a context manager: nothing is left running after it."""

    def __init__(self, browser: BrowserConfig, writer: PromptWriter, agent: AgentConfig, workers: int) -> None:
        self._browser, self._writer, self._agent, self._workers = browser, writer, agent, workers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rollouts", daemon=True)
        self._manager: BrowserManager | None = None
        self._games: list[BrowserGame] = []

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._manager = BrowserManager(self._browser)
            self._call(self._manager.start())
            self._games = [BrowserGame(self._manager) for _ in range(self._workers)]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._manager is not None:
            self._call(self._manager.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def infrastructure(self) -> dict[str, Any]:
        """Counts of launches and crashes of the sandbox."""
        return {} if self._manager is None else self._manager.stats.to_json()

    def play(
        self,
        tasks: Sequence[Task],
        player: Player,
        folder: Path,
        on_finish: Callable[[int, Trajectory], None] = lambda done, trajectory: None,
    ) -> list[Trajectory]:
        """Plays all tasks to their ends, in order of `tasks`; those already in `folder` are read back.

        FAILED episodes are left out. `on_finish(done, trajectory)` is called from the rollouts' thread.
        """
        source = _ListSource(tasks, folder, on_finish)
        with self._working(source, player) as running:
            running.result()
        ordered = (source.done[index] for index in range(len(tasks)))
        return [trajectory for trajectory in ordered if trajectory.outcome.carries_reward]

    @contextlib.contextmanager
    def streaming(
        self, pool: RolloutPool, task_of: Callable[[int], Task], player: Player, version: Callable[[], int]
    ) -> Iterator[Future[None]]:
        """Keeps the pool filled while the block runs. The future ends early only with the workers' error."""
        with self._working(_PoolSource(pool, task_of, version), player) as running:
            yield running

    @contextlib.contextmanager
    def _working(self, source: _Source, player: Player) -> Iterator[Future[None]]:
        """All workers at `source`; when the block is left, however that is, they have ended and given back theirs."""

        async def begin() -> asyncio.Task[None]:
            return asyncio.create_task(self._work(source, player))

        async def outcome() -> None:
            await task

        async def end() -> None:
            task.cancel()
            await asyncio.wait([task])

        task = self._call(begin())
        try:
            yield asyncio.run_coroutine_threadsafe(outcome(), self._loop)
        finally:
            self._call(end())

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _work(self, source: _Source, player: Player) -> None:
        async with asyncio.TaskGroup() as group:
            for game in self._games:
                group.create_task(self._worker(game, source, player))

    async def _worker(self, game: BrowserGame, source: _Source, player: Player) -> None:
        while not source.exhausted():
            claimed = source.claim()
            if claimed is None:
                await asyncio.sleep(IDLE_SECONDS)
                continue
            index, task = claimed
            try:
                source.finish(index, await self._episode(game, index, task, player))
            except BaseException:
                source.abandon(index)
                raise

    async def _episode(self, game: BrowserGame, index: int, task: Task, player: Player) -> Trajectory:
        """One episode, retried when the infrastructure fails: the same task from its beginning."""
        failures: list[str] = []
        while len(failures) < ATTEMPTS:
            try:
                frame = await game.reset(task)
                watched = Watched(game, frame.info)
                async with player(watched, task) as policy:
                    trajectory = await play_episode(
                        watched,
                        frame,
                        policy,
                        self._writer,
                        self._agent,
                        id=f"{index:08d}-{task.id}",
                        task=task.to_json(),
                        instruction=load_game(task.game).instruction,
                        max_steps=task.max_steps,
                    )
                return dataclasses.replace(
                    trajectory, metadata={**trajectory.metadata, "infrastructure_failures": failures}
                )
            except SandboxFailure as failure:
                failures.append(f"{failure.kind}: {failure}")
        return Trajectory(
            id=f"{index:08d}-{task.id}",
            task=task.to_json(),
            windows=(),
            steps=(),
            outcome=Outcome.FAILED,
            reward=0.0,
            metadata={"infrastructure_failures": failures},
        )
