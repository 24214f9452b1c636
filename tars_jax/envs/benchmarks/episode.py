"""One episode of a benchmark's task: it is verified once, at its end, whoever ended it."""

from __future__ import annotations

import abc
import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.agent.actions import Action
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks

FINAL = "benchmark"  # in the info of the last observation


@dataclasses.dataclass(frozen=True)
class BenchmarkVerdict:
    """Verdict on an episode by the benchmark's own rules."""

    score: float
    success: bool | None  # None: a judge says
    # JSON, for the benchmark's result files; a `note` is a sentence about the episode that the report has, too.
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class BenchmarkEnvironment(abc.ABC):
    """Plays the tasks of one path. What a class of it adds to the constructor are options of the environment.

    An episode ends where the agent ends it, with its last step, or when its time is over: then `verify` is called, and
    the last observation's `info["benchmark"]` has the task's id, who ended it, the seconds that it took, the score and
    the verdict's details. What `verify` cannot tell, as the scorer failed, is an EnvironmentFailure: never a score.

    Args:
      tasks: what can be played.
      time_limit: seconds of an episode, from its first observation on; 0: the task's own.
      resources: browsers, and where computers are.
    """

    time_limit = 1800.0  # seconds of one call: applications start, tests run

    def __init__(
        self, tasks: BenchmarkTasks, *, time_limit: float = 0.0, resources: EnvironmentResources | None = None
    ) -> None:
        self.tasks, self.resources = tasks, resources or EnvironmentResources()
        self._limit = time_limit
        self._entry: BenchmarkTask | None = None
        self._shown = Observation()
        self._budget, self._steps = 0, 0
        self._began, self._ends = 0.0, math.inf

    # ---- what a benchmark has of its own

    @property
    @abc.abstractmethod
    def action_space(self) -> ActionSpace: ...

    @abc.abstractmethod
    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        """Sets the task up. Raises InputError for a task that it cannot have, EnvironmentFailure, SandboxFailure."""

    @abc.abstractmethod
    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        """Carries out a turn's actions; whether the agent has ended the episode by them."""

    @abc.abstractmethod
    async def verify(self) -> BenchmarkVerdict:
        """Verdict on the episode; the rules are asked once. Raises EnvironmentFailure("verifier", ...) where nobody can
        tell."""

    @abc.abstractmethod
    async def end(self) -> None:
        """Gives back what the episode holds. Twice is once."""

    # ---- what all have in common

    @property
    def instruction(self) -> str:
        return self._entry.instruction if self._entry else ""

    @property
    def entry(self) -> BenchmarkTask:
        """The task of the running episode."""
        assert self._entry is not None, "an episode begins with reset"
        return self._entry

    async def reset(self, task: Task) -> Observation:
        await self.end()
        self._entry = entry = self.tasks.of(task)
        self._budget, self._steps = task.max_steps, 0
        self._shown = await self.begin(entry, task)
        self._began = time.monotonic()
        self._ends = self._began + (self._limit or entry.time_limit)
        return self._shown

    async def step(self, actions: Sequence[Action]) -> Transition:
        self._steps += 1
        self._shown, ended = await self.act(actions)
        if ended:
            return await self._concluded("agent")
        if time.monotonic() > self._ends:
            return await self._concluded("time")
        if self._steps >= self._budget:
            return await self._concluded("steps")
        return Transition(self._shown)

    async def conclude(self) -> Transition:
        """The verdict of an episode that somebody else ended, as its agent answered nothing that could be read."""
        return await self._concluded("loop")

    async def close(self) -> None:
        await self.end()

    async def _concluded(self, by: str) -> Transition:
        seconds = time.monotonic() - self._began
        verdict = await self.verify()
        about = {
            "id": self.entry.id, "group": self.entry.group, "ended_by": by, "seconds": round(seconds, 3),
            "score": verdict.score, "success": verdict.success, "details": dict(verdict.details),
        }  # fmt: skip
        last = _with_info(self._shown, {**self._shown.info, FINAL: about})
        return Transition(last, verdict.score, by == "agent", by != "agent", verdict.success)


def _with_info(observation: Observation, info: Mapping[str, Any]) -> Observation:
    """The same screen and text; its pixels are not decoded again where they were."""
    if observation.pixels is None:
        return Observation(text=observation.text, info=info)
    return Observation.decoded(observation.screenshot, observation.pixels, observation.text, info)
