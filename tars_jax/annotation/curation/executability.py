"""Whether the actions of a trajectory, carried out again in a fresh sandbox, reach the end that was recorded.

The end is the environment's verdict and the return where the recording has a verdict; else it is what was seen last. A
screen counts as the same where few of its pixels differ. A sandbox that fails says nothing about the trajectory.
"""

from __future__ import annotations

import dataclasses
import enum
import math

import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import Action
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import load_environment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.pictures import pixels_of
from tars_jax.trajectory import Outcome, Trajectory

SHADE = 16  # of 255: a channel that differs by less is the same
OTHER_PIXELS = 0.01  # share of a screen that may differ
RETURN = 1e-6


class Reason(enum.Enum):
    """The reason why the recorded end was not reached, or why nobody can say."""

    REACHED = "reached"
    NO_ENVIRONMENT = "no sandbox is known for it"
    UNREADABLE = "a step has no action that can be read"
    REFUSED = "the sandbox has no such action"
    ENDED_EARLY = "it ended before the last action"
    OTHER_VERDICT = "the verdict is another"
    OTHER_RETURN = "the return is another"
    OTHER_SCREEN = "the last screen is another"
    OTHER_TEXT = "the last text is another"
    NOTHING_TO_COMPARE = "nothing tells how it ended"
    SANDBOX = "the sandbox failed"

    @property
    def says(self) -> bool | None:
        """Whether the trajectory can be executed; None: nobody can say."""
        if self is Reason.REACHED:
            return True
        return None if self in (Reason.NO_ENVIRONMENT, Reason.NOTHING_TO_COMPARE, Reason.SANDBOX) else False


@dataclasses.dataclass(frozen=True)
class ReplayedExecution:
    """`step`: the one that it came of, from 0; -1: none alone. `diverged`: the first whose screen was another."""

    reason: Reason
    step: int = -1
    diverged: int = -1
    detail: str = ""

    @property
    def says(self) -> bool | None:
        return self.reason.says


async def executed(trajectory: Trajectory, resources: EnvironmentResources) -> ReplayedExecution:
    """Carries its actions out again, in the environment and the task that it names."""
    try:
        task = Task.from_json(trajectory.task)
        spec = load_environment(task.environment, task.options)
    except InputError as error:
        return ReplayedExecution(Reason.NO_ENVIRONMENT, detail=str(error)[:200])
    environment = spec.checked(resources)
    try:
        return await _carried_out(trajectory, task, environment)
    except EnvironmentFailure as failure:
        return ReplayedExecution(Reason.SANDBOX, detail=str(failure)[:200])
    except InputError as error:  # of a task that the environment cannot have
        return ReplayedExecution(Reason.NO_ENVIRONMENT, detail=str(error)[:200])
    finally:
        await environment.close()


async def _carried_out(trajectory: Trajectory, task: Task, environment: CheckedEnvironment) -> ReplayedExecution:
    observation = await environment.reset(task)
    space = environment.action_space
    total, diverged, success = 0.0, -1, None
    ended = False
    for number, recorded in enumerate(trajectory.steps):
        if ended:
            return ReplayedExecution(Reason.ENDED_EARLY, number, diverged)
        if diverged < 0 and not _looks_the_same(recorded.screenshot, observation):
            diverged = number
        actions = _actions(recorded.action, space)
        if isinstance(actions, ParseError):
            kind = Reason.REFUSED if actions.kind.value == "unknown_function" else Reason.UNREADABLE
            return ReplayedExecution(kind, number, diverged, actions.message[:200])
        transition = await environment.step(actions)
        observation, total, success = transition.observation, total + transition.reward, transition.success
        ended = transition.terminated or transition.truncated
    return dataclasses.replace(_compared(trajectory, observation, total, success), diverged=diverged)


def _actions(action: str, space: ActionSpace) -> tuple[Action, ...] | ParseError:
    read = parse_response(f"Action: {action}", space=space)
    return read if isinstance(read, ParseError) else read.actions


def _compared(trajectory: Trajectory, last: Observation, total: float, success: bool | None) -> ReplayedExecution:
    verdict = trajectory.verified_success
    if verdict is not None and success is not None:
        if bool(success) != verdict:
            return ReplayedExecution(Reason.OTHER_VERDICT, detail=f"recorded {verdict}, now {bool(success)}")
        if trajectory.outcome is Outcome.FINISHED and not math.isclose(total, trajectory.reward, abs_tol=RETURN):
            return ReplayedExecution(Reason.OTHER_RETURN, detail=f"recorded {trajectory.reward:g}, now {total:g}")
        return ReplayedExecution(Reason.REACHED)
    if trajectory.final_screenshot:
        same = _looks_the_same(trajectory.final_screenshot, last)
        return ReplayedExecution(Reason.REACHED if same else Reason.OTHER_SCREEN)
    if trajectory.final_text:
        return ReplayedExecution(Reason.REACHED if trajectory.final_text == last.text else Reason.OTHER_TEXT)
    return ReplayedExecution(Reason.NOTHING_TO_COMPARE)


def _looks_the_same(recorded: bytes, observation: Observation) -> bool:
    """A recording that shows no screen is like any."""
    if not recorded:
        return True
    if observation.pixels is None:
        return False
    wanted, seen = pixels_of(recorded), np.asarray(observation.pixels)
    if wanted.shape != seen.shape:
        seen = np.asarray(observation.resized(*wanted.shape[:2]).pixels)
    other = np.abs(wanted.astype(np.int16) - seen).max(axis=-1) > SHADE
    return bool(other.mean() <= OTHER_PIXELS)
