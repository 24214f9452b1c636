"""A judge around any function from a finished episode and its task to a reward and a verdict.

Whatever it is that judges may be away: it is asked again a few times, and an episode that nobody could judge has
failed, which is no reward of 0. What it says takes the place of the environment's own rewards; that it cannot say is a
verdict, too, after which nobody asks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.plugins import describe_error
from tars_jax.trajectory import Outcome, Step, Trajectory

ATTEMPTS = 3
MOST_UNJUDGED = 0.2  # the share that a judge cannot tell, from which on a task, or a set of tasks, is not for it
DEFAULT_TIME_LIMIT_S = 120.0
AS_PLAYED = "as_played"  # in the metadata of an episode that is yet to be judged


class Judgement(NamedTuple):
    """A judge's verdict on an episode; a plain pair of these says the same."""

    reward: float  # the return of the whole episode; (step rewards of the environment are in `trajectory.steps`)
    success: bool | None = None  # None: nobody says


@dataclasses.dataclass
class Inquiry:
    """State of one episode's judging."""

    calls: int = 0  # of models, answered or not
    details: dict[str, Any] = dataclasses.field(default_factory=dict)  # JSON: why the judge says what it says

    def to_json(self) -> dict[str, Any]:
        """The record for an episode's metadata."""
        return {"judge_calls": self.calls} | ({"judge_details": self.details} if self.details else {})


_INQUIRY: ContextVar[Inquiry | None] = ContextVar("inquiry", default=None)


@contextlib.contextmanager
def inquiring() -> Iterator[Inquiry]:
    """Whatever judges do meanwhile, in this task and those that it starts, belongs to one inquiry."""
    token = _INQUIRY.set(inquiry := Inquiry())
    try:
        yield inquiry
    finally:
        _INQUIRY.reset(token)


def count_call() -> None:
    """A model is asked for the episode that is being judged, where there is one: judge calls are costs."""
    if (inquiry := _INQUIRY.get()) is not None:
        inquiry.calls += 1


def add_details(**details: Any) -> None:
    """Keeps JSON beside the verdict, in `metadata["judge_details"]` of the episode that is being judged."""
    if (inquiry := _INQUIRY.get()) is not None:
        inquiry.details |= details


class JudgeFailure(Exception):
    """The judge failed, not the policy: infrastructure, never a reward of 0."""


class JudgeUnavailable(JudgeFailure):
    """A judge that does not answer, or does not take this episode."""


class UnreadableVerdict(JudgeFailure):
    """An answer of a judge that is no verdict."""


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
        `metadata["judge"]` and, where it has one, `metadata["judge_version"]`; how often it asked a model, failures
        included, in `metadata["judge_calls"]`, and what it says besides, where it does, in `metadata["judge_details"]`.

        An episode of which the judge cannot say is whole, but FAILED, without a reward; `cannot_say` tells why.

        Raises JudgeFailure and InputError as `judgement` does.
        """
        described = self._describe(trajectory)
        with inquiring() as inquiry:
            try:
                reward, success = await self.judgement(trajectory, task)
            except CannotSay as verdict:
                return mark_undecided(trajectory, verdict, described | inquiry.to_json())
        return with_judged_reward(
            trajectory, reward, success, task.verification.threshold, described | inquiry.to_json()
        )

    def _describe(self, trajectory: Trajectory) -> dict[str, Any]:
        """Description of the episode's judge, and of the environment's own verdict."""
        own = None if trajectory.success is None else bool(trajectory.success)
        versioned = {"judge_version": self.version} if self.version else {}
        return {
            "judge": self.name,
            "environment_reward": trajectory.reward,
            "environment_success": own,
            **versioned,
        }

    async def judgement(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Judges an episode. Raises CannotSay where that is its verdict, at once; JudgeFailure where it raised another
        exception, or took too long, `attempts` times; InputError for what is no judgement."""
        said = await ask_with_retries(
            f"judge {self.name}", lambda: self._call(trajectory, task), self.time_limit, self.pause, self.attempts
        )
        return _checked(self.name, said)

    async def _call(self, trajectory: Trajectory, task: Task) -> Any:
        said = await asyncio.to_thread(self.function, trajectory, task)
        return await said if inspect.isawaitable(said) else said


async def ask_with_retries(
    who: str, ask: Callable[[], Awaitable[Any]], time_limit: float, pause: float = 1.0, attempts: int = ATTEMPTS
) -> Any:
    """Result of `ask` within its time limit, asked again after a failure, each time after twice the pause.

    Raises CannotSay and InputError at once as it raises them; JudgeFailure where it raised another exception, or took
    too long, `attempts` times.
    """
    kind: type[JudgeFailure] = JudgeUnavailable
    failure = ""
    for attempt in range(attempts):
        if attempt:
            await asyncio.sleep(pause * 2 ** (attempt - 1))
        try:
            return await asyncio.wait_for(ask(), time_limit)
        except (InputError, CannotSay):
            raise
        except TimeoutError:
            kind, failure = JudgeUnavailable, f"took more than {time_limit:g} s"
        except Exception as error:
            kind = type(error) if isinstance(error, JudgeFailure) else JudgeUnavailable
            failure = f"raised {describe_error(error)}"
    raise kind(f"{who} {failure}, the last of {attempts} times"[:500])


def with_judged_reward(
    trajectory: Trajectory, reward: float, success: bool | None, threshold: float | None, about: Mapping[str, Any]
) -> Trajectory:
    """The episode with this reward, all of it at the last step; a threshold tells success, where there is one."""
    return dataclasses.replace(
        trajectory,
        steps=_paying(trajectory, reward),
        reward=reward,
        success=success if threshold is None else reward >= threshold,
        metadata={**trajectory.metadata, **about},
    )


def mark_undecided(trajectory: Trajectory, verdict: CannotSay, about: Mapping[str, Any]) -> Trajectory:
    """The episode of which nobody can say: whole, but FAILED, without a reward."""
    return _failed(trajectory, {**about, "cannot_say": str(verdict)[:500] or "it gave no reason"})


def mark_unjudged(trajectory: Trajectory) -> Trajectory:
    """The episode whose judge was away: whole, but FAILED, without a reward, until it is judged `as_played`."""
    told = {"outcome": trajectory.outcome.value, "rewards": [step.reward for step in trajectory.steps]}
    before = {**told, "reward": trajectory.reward, "success": trajectory.success}
    return _failed(trajectory, {AS_PLAYED: before})


def as_played(trajectory: Trajectory) -> Trajectory | None:
    """The trajectory that `mark_unjudged` was given; None for another episode."""
    before = trajectory.metadata.get(AS_PLAYED)
    if before is None:
        return None
    paid = zip(trajectory.steps, before["rewards"], strict=True)
    kept = {name: value for name, value in trajectory.metadata.items() if name != AS_PLAYED}
    return dataclasses.replace(
        trajectory,
        steps=tuple(dataclasses.replace(step, reward=reward) for step, reward in paid),
        outcome=Outcome(before["outcome"]),
        reward=before["reward"],
        success=before["success"],
        metadata=kept,
    )


def _failed(trajectory: Trajectory, about: Mapping[str, Any]) -> Trajectory:
    return dataclasses.replace(
        trajectory,
        steps=_paying(trajectory, 0.0),
        outcome=Outcome.FAILED,
        reward=0.0,
        success=None,
        metadata={**trajectory.metadata, **about},
    )


def _paying(trajectory: Trajectory, reward: float) -> tuple[Step, ...]:
    """All of it at the last step, where there is one: a harness may have asked nothing."""
    if not trajectory.steps:
        return ()
    *before, last = trajectory.steps
    unpaid = (dataclasses.replace(step, reward=0.0) for step in before)
    return (*unpaid, dataclasses.replace(last, reward=reward))


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
