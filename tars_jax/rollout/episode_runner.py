"""Runners on one machine: each plays one episode after another, of whatever environment its task names.

A failure of the environment is retried from the task's beginning, a few times; then the episode is recorded as FAILED,
which carries no reward; its metadata's `lost` says what there is of the last try (`AttemptLog`).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.loop import AgentConfig, PolicySession, TurnDeclined, ask_to_remember, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.window import SampledResponse
from tars_jax.environment import EnvironmentFailure, Observation, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.harness import Harness
from tars_jax.envs.kept_pages import KeptPages
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, load_environment
from tars_jax.judges import Judge, JudgeFailure, judge_of, mark_unjudged
from tars_jax.rollout.activity import Activity, now
from tars_jax.rollout.harness_episode import OVER_TIME, play_harness
from tars_jax.rollout.players import Player, PrivilegedEnvironment
from tars_jax.rollout.rollout_workers import EpisodeRunner, Record, RolloutWorkers
from tars_jax.rollout.sources import Assignment
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.service import BrowserClient, browsers
from tars_jax.trajectory import Outcome, Trajectory

ATTEMPTS = 3

MOST_TURNS, MOST_TEXT = 200, 4000  # of an attempt that was lost: the last turns; characters of each text


@dataclasses.dataclass(frozen=True)
class _TimedEnvironment:
    environment: CheckedEnvironment
    record: Record
    attempt: AttemptLog

    async def step(self, actions: Sequence[Any]) -> Transition:
        start = now()
        self.attempt.acts(actions)
        try:
            transition = await self.environment.step(actions)
        finally:
            self.record("act", start, now())
        self.attempt.seen(transition.observation)
        return transition

    async def conclude(self) -> Transition | None:
        start = now()
        try:
            return await self.environment.conclude()
        finally:
            self.record("act", start, now())


@dataclasses.dataclass(frozen=True)
class _TimedSession:
    session: PolicySession
    record: Record
    attempt: AttemptLog

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        start = now()
        try:
            sampled = await self.session.respond(tokens, images, restart=restart)
        finally:
            self.record("think", start, now())
        self.attempt.sampled(tokens, sampled.tokens)
        return sampled

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
        start = now()
        try:
            return await ask_to_remember(self.session, tokens, most, usual)
        finally:
            self.record("think", start, now())


class EnvironmentRunner:
    """Plays tasks of any environment, one at a time. It records `reset`, `think` and `act`.

    An environment is kept over episodes; one of another kind takes its place.
    """

    def __init__(
        self, resources: EnvironmentResources, writer: PromptWriter, agent: AgentConfig, judge: Judge | None = None
    ) -> None:
        self._resources, self._writer, self._agent, self._judge = resources, writer, agent, judge
        self._environment: CheckedEnvironment | Harness | None = None
        self._kind: tuple[str, str] | None = None

    async def ready(self) -> None:
        """Returns at once: what an episode needs is made when it is needed."""

    async def episode(self, assignment: Assignment, player: Player, record: Record) -> Trajectory:
        """One episode, retried when the environment fails: the same task from its beginning."""
        task, failures = assignment.task, list[str]()
        lost: dict[str, Any] = {}
        id = f"{assignment.index:08d}-{task.id}"
        spec = load_environment(task.environment, task.options)
        while len(failures) < ATTEMPTS:
            began, attempt = now(), AttemptLog()
            environment = await self._environment_of(spec)
            try:
                if isinstance(environment, CheckedEnvironment):
                    trajectory = await self._play(environment, player, assignment, id, record, attempt)
                else:
                    trajectory = await play_harness(environment, player, assignment, id, record)
                if judge := judge_of(task, self._judge, spec.judge):
                    start = now()
                    try:
                        trajectory = await judge.judged(trajectory, task)
                    except JudgeFailure as failure:  # it was asked again; the episode is kept for when it is there
                        failures.append(f"judge: {failure}")
                        trajectory = mark_unjudged(trajectory)
                    finally:
                        record("judge", start, now())
                about = {"infrastructure_failures": failures, "seconds": round(now() - began, 3)}
                return dataclasses.replace(trajectory, metadata={**trajectory.metadata, **about})
            except EnvironmentFailure as failure:  # what the environment did wrong is nobody's merit either
                failures.append(f"{failure.kind}: {failure}")
                lost = attempt.to_json(now() - began, failure.details)
                if failure.kind == OVER_TIME:
                    break
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
            metadata={"infrastructure_failures": failures, **({"lost": lost} if lost else {})},
        )

    async def _play(
        self, environment: CheckedEnvironment, player: Player, assignment: Assignment, id: str, record: Record,
        attempt: AttemptLog,
    ) -> Trajectory:  # fmt: skip
        """Plays by the agent loop. Raises EnvironmentFailure, TurnDeclined for the first turn."""
        task, start = assignment.task, now()
        try:
            first = await environment.reset(task, assignment.alike)
        finally:
            record("reset", start, now())
        attempt.began(first)
        timed = _TimedEnvironment(environment, record, attempt)
        privileged = PrivilegedEnvironment(timed, first, environment.action_space, assignment.member)
        async with player(privileged, task) as policy:
            return await play_episode(
                privileged,
                first,
                _TimedSession(policy, record, attempt),
                self._writer,
                self._agent,
                id=id,
                task=task,
                instruction=environment.instruction or task.instruction,
                space=environment.action_space,
            )

    async def close(self) -> None:
        """Gives back what the environment holds. May be called again."""
        environment, self._environment, self._kind = self._environment, None, None
        if environment is not None:
            with contextlib.suppress(EnvironmentFailure):
                await environment.close()

    async def _environment_of(self, spec: EnvironmentSpec) -> CheckedEnvironment | Harness:
        kind = (spec.name, json.dumps(dict(spec.made_with), sort_keys=True, default=repr))
        if self._environment is None or kind != self._kind:
            await self.close()
            made = spec.checked if spec.harness is None else spec.harness
            self._environment, self._kind = made(self._resources), kind
        return self._environment


def page_resources(
    manager: BrowserManager | BrowserClient, browser: BrowserConfig, runners: int, sandbox: SandboxAddress | None = None
) -> EnvironmentResources:
    """Pages in the browsers of `browser`, which `manager` has started, for so many runners.

    Where these have more places than there are runners, pages of tasks that are not played just now are kept there:
    runners that change between games need not open one for every episode. A service's places are others' too: none is
    kept. Where browsers come and go (`max_browsers`), a page that is not asked for goes, too, and its browser after it.
    """
    places = max(browser.browsers, browser.max_browsers) * browser.pages_per_browser
    own = isinstance(manager, BrowserManager)
    idle_seconds = browser.idle_browser_s if browser.max_browsers else None
    pages = KeptPages(manager, max(runners, places) if own else runners, idle_seconds)
    return EnvironmentResources(lambda: pages, sandbox)


class Rollouts(RolloutWorkers):
    """Runners in this process, with browsers of its own or of a service where their environments need any."""

    def __init__(
        self,
        browser: BrowserConfig | None,
        writer: PromptWriter,
        agent: AgentConfig,
        workers: int,
        activity: Activity | None = None,
        judge: Judge | None = None,
        sandbox: SandboxAddress | None = None,
    ) -> None:
        """`browser`: None where no environment needs one. `judge`: of every episode; None: as its task says.

        `sandbox`: where pages, computers and phones are; None: on this machine.
        """
        super().__init__(activity)
        self._sandbox = sandbox
        self._browser, self._workers = browser, workers
        self._arguments = writer, agent, judge
        self._manager: BrowserManager | BrowserClient | None = None
        self._opened: list[EnvironmentRunner] = []

    async def _open(self) -> Sequence[EpisodeRunner]:
        resources = EnvironmentResources(sandbox=self._sandbox)
        if self._browser is not None:
            self._manager = browsers(self._browser, self._sandbox)
            await self._manager.start()
            resources = page_resources(self._manager, self._browser, self._workers, self._sandbox)
        self._opened = [EnvironmentRunner(resources, *self._arguments) for _ in range(self._workers)]
        return self._opened

    async def _rest(self) -> None:
        if self._browser is not None and self._browser.max_browsers:
            await asyncio.gather(*(runner.close() for runner in self._opened))

    async def _close(self) -> None:
        await asyncio.gather(*(runner.close() for runner in self._opened))
        if self._manager is not None:
            await self._manager.close()

    @property
    def infrastructure(self) -> dict[str, Any]:
        """Counts of launches and crashes of the sandbox."""
        return {} if self._manager is None else self._manager.stats.to_json()


@dataclasses.dataclass
class AttemptLog:
    """Log of an attempt at an episode that was lost: enough to find out why, and nothing to learn from. Counted while
    it goes on."""

    first: str = ""
    steps: int = 0
    tokens_read: int = 0
    tokens_written: int = 0
    turns: deque[dict[str, str]] = dataclasses.field(default_factory=lambda: deque(maxlen=MOST_TURNS))

    def began(self, observation: Observation) -> None:
        self.first = observation.text[:MOST_TEXT]

    def sampled(self, read: Sequence[int], written: Sequence[int]) -> None:
        self.tokens_read += len(read)
        self.tokens_written += len(written)

    def acts(self, actions: Sequence[Any]) -> None:
        self.steps += 1
        self.turns.append({"action": "\n\n".join(map(format_call, actions))[:MOST_TEXT], "observation": ""})

    def seen(self, observation: Observation) -> None:
        self.turns[-1]["observation"] = observation.text[:MOST_TEXT]

    def to_json(self, seconds: float, details: Mapping[str, Any]) -> dict[str, Any]:
        """`details`: the failure's own."""
        return {
            "first": self.first, "steps": self.steps, "tokens_read": self.tokens_read,
            "tokens_written": self.tokens_written, "seconds": round(seconds, 3), "turns": list(self.turns),
            "details": dict(details),
        }  # fmt: skip
