"""Workers on one machine: each drives one page of a browser through one episode after another.

An infrastructure failure, or a page whose own script fails, is retried in a fresh page, a few times; then it is
recorded as FAILED, which carries no reward.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax.agent.loop import AgentConfig, Environment, PolicySession, Transition, TurnDeclined, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.window import Sampled
from tars_jax.envs import BrowserGame, KeptPages
from tars_jax.rollout.activity import Activity, now
from tars_jax.rollout.crew import Crew, Record, Seat
from tars_jax.rollout.players import Player, Watched
from tars_jax.rollout.sources import Assignment
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, OpensPages, PageError, SandboxFailure
from tars_jax.sandbox.browser.service import BrowserClient, browsers
from tars_jax.tasks.library import load_playable
from tars_jax.trajectory import Outcome, Trajectory

ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class _TimedEnvironment:
    environment: Environment
    record: Record

    async def step(self, actions: Sequence[Any]) -> Transition:
        start = now()
        try:
            return await self.environment.step(actions)
        finally:
            self.record("act", start, now())


@dataclasses.dataclass(frozen=True)
class _TimedSession:
    session: PolicySession
    record: Record

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        start = now()
        try:
            return await self.session.respond(tokens, images, restart=restart)
        finally:
            self.record("think", start, now())


class PageSeat:
    """A page that plays. It records `reset`, `think` and `act`; the verdict comes back with an action's screenshot, in
    the same round trip."""

    def __init__(self, manager: OpensPages, writer: PromptWriter, agent: AgentConfig) -> None:
        self._game = BrowserGame(manager)
        self._writer, self._agent = writer, agent

    async def ready(self) -> None:
        """Always: a page is opened when it is needed."""

    async def episode(self, assignment: Assignment, player: Player, record: Record) -> Trajectory:
        """One episode, retried when infrastructure or page fail: the same task from its beginning."""
        task, failures = assignment.task, list[str]()
        id = f"{assignment.index:08d}-{task.id}"
        while len(failures) < ATTEMPTS:
            try:
                start = now()
                try:
                    frame = await self._game.reset(task)
                finally:
                    record("reset", start, now())
                watched = Watched(_TimedEnvironment(self._game, record), frame.info, assignment.member)
                async with player(watched, task) as policy:
                    trajectory = await play_episode(
                        watched,
                        frame,
                        _TimedSession(policy, record),
                        self._writer,
                        self._agent,
                        id=id,
                        task=task.to_json(),
                        instruction=load_playable(task.game).instruction_for(frame.info),
                        max_steps=task.max_steps,
                    )
                return dataclasses.replace(
                    trajectory, metadata={**trajectory.metadata, "infrastructure_failures": failures}
                )
            except (SandboxFailure, PageError) as failure:  # what the page itself did wrong is nobody's merit either
                failures.append(f"{failure.kind}: {failure}")
                with contextlib.suppress(SandboxFailure):
                    await self._game.close()
            except TurnDeclined as declined:  # of its first turn: nothing of the policy was seen
                failures.append(f"policy: {declined}")
                break
        return Trajectory(
            id=id,
            task=task.to_json(),
            windows=(),
            steps=(),
            outcome=Outcome.FAILED,
            reward=0.0,
            metadata={"infrastructure_failures": failures},
        )


def page_seats(
    manager: BrowserManager | BrowserClient,
    browser: BrowserConfig,
    writer: PromptWriter,
    agent: AgentConfig,
    count: int,
) -> list[PageSeat]:
    """So many seats in the browsers of `browser`, which `manager` has started.

    Where these have more places than there are seats, pages of tasks that are not played just now are kept there: seats
    that change between games need not open one for every episode. A service's places are others' too: none is kept.
    """
    own = isinstance(manager, BrowserManager)
    pages = KeptPages(manager, max(count, browser.browsers * browser.pages_per_browser) if own else count)
    return [PageSeat(pages, writer, agent) for _ in range(count)]


class Rollouts(Crew):
    """Browsers of this process or of a service, and a page for each worker."""

    def __init__(
        self,
        browser: BrowserConfig,
        writer: PromptWriter,
        agent: AgentConfig,
        workers: int,
        activity: Activity | None = None,
    ) -> None:
        super().__init__(activity)
        self._browser, self._writer, self._agent, self._workers = browser, writer, agent, workers
        self._manager: BrowserManager | BrowserClient | None = None

    async def _open(self) -> Sequence[Seat]:
        self._manager = browsers(self._browser)
        await self._manager.start()
        return page_seats(self._manager, self._browser, self._writer, self._agent, self._workers)

    async def _close(self) -> None:
        if self._manager is not None:
            await self._manager.close()

    @property
    def infrastructure(self) -> dict[str, Any]:
        """Counts of launches and crashes of the sandbox."""
        return {} if self._manager is None else self._manager.stats.to_json()
