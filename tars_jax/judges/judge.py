"""A judge around any function from a finished episode and its task to a reward and a verdict.

Whatever it is that judges may be away: it is asked again a few times, and an episode that nobody could judge has
failed, which is no reward of 0. What it says takes the place of the environment's own rewards; that it cannot say is a
verdict, too, after which nobody asks again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.trajectory import Outcome, Trajectory

ATTEMPTS = 3
MOST_UNJUDGED = 0.2  # the share that a judge cannot tell, from which on a task, or a set of tasks, is not for it
DEFAULT_TIME_LIMIT_S = 120.0


class Judgement(NamedTuple):
    """What a judge says of an episode; a plain pair of these says the same."""

    reward: float  # the return of the whole episode; (step rewards of the environment are in `trajectory.steps`)
    success: bool | None = None  # None: nobody says


class JudgeFailure(Exception):
    """The judge failed, not the policy: infrastructure, never a reward of 0."""


class JudgeUnavailable(JudgeFailure):
    """It does not answer, or does not take this episode."""


class UnreadableVerdict(JudgeFailure):
    """It answered, with something that is no verdict."""


class CannotSay(Exception):
    """A judge's verdict that it cannot tell: what it needs (an alias, a picture) it has not. It is not asked again; the
    episode carries no reward, and is counted."""


JudgeFunction = Callable[[Trajectory, Task], Judgement | Awaitable[Judgement]]


@dataclasses.dataclass(frozen=True)
class Judge:
    """Asks `function`, which is called in a thread; what it gives may be awaited."""

    name: str
    function: JudgeFunction
    time_limit: float = DEFAULT_TIME_LIMIT_S  # seconds for one episode
    pause: float = 1.0  # seconds before the second attempt; twice as many before the third
    attempts: int = ATTEMPTS
    version: str = ""  # of its weights, its prompt or its other options; empty: there is one alone

    def close(self) -> None:
        """Gives back what the judge holds, such as a model. May be called again."""
        if close := getattr(self.function, "close", None):
            close()

    async def judged(self, trajectory: Trajectory, task: Task) -> Trajectory:
        """The episode with the judge's reward, all of it at the last step, and its verdict, or that of the task's
        threshold; what the environment's rewards came to stays in `metadata["environment_reward"]`, and its own verdict
        in `metadata["environment_success"]`: nothing that learns reads them. The judge's name and version are in
        `metadata["judge"]` and, where it has one, `metadata["judge_version"]`.

        An episode of which the judge cannot say is whole, but FAILED, without a reward; `cannot_say` tells why.

        Raises JudgeFailure and InputError as `judgement` does.
        """
        own = None if trajectory.success is None else bool(trajectory.success)
        about = {"judge": self.name, "environment_reward": trajectory.reward, "environment_success": own}
        versioned = {"judge_version": self.version} if self.version else {}
        metadata = {**trajectory.metadata, **about, **versioned}
        *before, last = trajectory.steps
        unpaid = tuple(dataclasses.replace(step, reward=0.0) for step in before)
        try:
            reward, success = await self.judgement(trajectory, task)
        except CannotSay as verdict:
            return dataclasses.replace(
                trajectory,
                steps=(*unpaid, dataclasses.replace(last, reward=0.0)),
                outcome=Outcome.FAILED,
                reward=0.0,
                success=None,
                metadata={**metadata, "cannot_say": str(verdict)[:500] or "it gave no reason"},
            )
        threshold = task.verification.threshold
        return dataclasses.replace(
            trajectory,
            steps=(*unpaid, dataclasses.replace(last, reward=reward)),
            reward=reward,
            success=success if threshold is None else reward >= threshold,
            metadata=metadata,
        )

    async def judgement(self, trajectory: Trajectory, task: Task) -> Judgement:
        """What the judge says. Raises CannotSay where that is its verdict, at once; JudgeFailure where it raised
        another exception, or took too long, `attempts` times; InputError for what is no judgement."""
        kind: type[JudgeFailure] = JudgeUnavailable
        failure = ""
        for attempt in range(self.attempts):
            if attempt:
                await asyncio.sleep(self.pause * 2 ** (attempt - 1))
            try:
                said = await asyncio.wait_for(self._call(trajectory, task), self.time_limit)
            except (InputError, CannotSay):
                raise
            except TimeoutError:
                kind, failure = JudgeUnavailable, f"took more than {self.time_limit:g} s"
            except Exception as error:
                kind = type(error) if isinstance(error, JudgeFailure) else JudgeUnavailable
                failure = f"raised {type(error).__name__}: {error}"
            else:
                return _checked(self.name, said)
        raise kind(f"judge {self.name} {failure}, the last of {self.attempts} times"[:500])

    async def _call(self, trajectory: Trajectory, task: Task) -> Any:
        said = await asyncio.to_thread(self.function, trajectory, task)
        return await said if inspect.isawaitable(said) else said


def _checked(name: str, said: Any) -> Judgement:
    """Raises InputError for anything but a finite number and a verdict."""
    if isinstance(said, tuple) and len(said) == 2:
        reward, success = said
        is_number = hasattr(reward, "__float__") and math.isfinite(reward)
        if is_number and (success is None or type(success).__name__ in ("bool", "bool_")):
            return Judgement(float(reward), None if success is None else bool(success))
    raise InputError(
        f"judge {name} must return a finite reward, and True, False or None for success; got {said!r:.100}"
    )
