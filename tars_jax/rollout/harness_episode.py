"""Episodes that somebody's program plays: opened at a policy server, played by the program, fetched, and rewarded.

    ChatPolicy.opened(seed) -> key -> Harness.play(task, key) -> ProgramEnd -> finish -> trajectory_of_recorded

The reward is what the program says, where its options say that it does. Without one, an episode has been lost, unless
its program had all the answers that it may ask for (it then earned nothing), or an option says what that is worth.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tars_jax import InputError
from tars_jax.agent.loop import PolicySession
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.harness import Harness, PolicyAccess, ProgramEnd
from tars_jax.envs.harness_options import HTTP, HarnessOptions
from tars_jax.inference.http_connection import Connection, bearer, open_connection
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.rollout.activity import now
from tars_jax.rollout.players import Player, PrivilegedEnvironment
from tars_jax.rollout.recorded_episode import trajectory_of_recorded
from tars_jax.rollout.rollout_workers import Record
from tars_jax.rollout.sources import Assignment
from tars_jax.trajectory import Outcome, Trajectory

PATIENCE_S = 60.0  # for the server to open an episode, or to hand it over
OVER_TIME = "time"  # the kind of a failure that is not tried again
KEPT_OUTPUT = 2000  # characters of what a program said, in the trajectory


@dataclasses.dataclass(frozen=True)
class ChatPolicy:
    """A policy server of ours, where episodes are recorded."""

    address: str  # without /v1
    model: str
    api_key: str = dataclasses.field(default="", repr=False)
    temperature: float = 1.0  # at which the learner scores
    answer_tokens: int | None = None  # of one answer, whatever a program asks for; None: as it asks

    @contextlib.asynccontextmanager
    async def recording(self, seed: int, answers: int) -> AsyncIterator[_Recording]:
        """An episode, which is over when the block is left. Raises PolicyUnavailable."""
        async with open_connection(self.address, bearer(self.api_key), PATIENCE_S) as connection:
            body: dict[str, Any] = {"seed": seed, "temperature": self.temperature, "answers": answers}
            body |= {} if self.answer_tokens is None else {"answer_tokens": self.answer_tokens}
            opened = await connection.send("POST", "/v1/rl/episodes", body)
            recording = _Recording(connection, opened["id"], PolicyAccess(self.address, self.model, opened["key"]))
            try:
                yield recording
            finally:
                with contextlib.suppress(PolicyUnavailable, InputError):  # it goes with its server, or its lease
                    await recording.finish()


@dataclasses.dataclass
class _Recording:
    connection: Connection
    id: str
    access: PolicyAccess
    found: dict[str, Any] | None = None

    async def finish(self) -> dict[str, Any]:
        """Ends the recording and returns what was played; a second call changes nothing."""
        if self.found is None:
            self.found = await self.connection.send("POST", f"/v1/rl/episodes/{self.id}/finish", {})
        return self.found


@dataclasses.dataclass(frozen=True)
class HarnessPlayer:
    """A player whom programs can ask, too: by sessions in other environments, by chat completions in a harness."""

    sessions: Player
    policy_of: Callable[[Task], ChatPolicy]
    seed: int

    def __call__(self, privileged: PrivilegedEnvironment, task: Task) -> AbstractAsyncContextManager[PolicySession]:
        return self.sessions(privileged, task)


async def play_harness(harness: Harness, player: Player, assignment: Assignment, id: str, record: Record) -> Trajectory:
    """One episode of the assignment's task. The same seeds give the same answers as `engine_player` would.

    Raises EnvironmentFailure for one that was lost, PolicyUnavailable, InputError for a player who takes no chat
    completions.
    """
    task = assignment.task
    if not isinstance(player, HarnessPlayer):
        raise InputError(f"{task.environment} must be played by a policy that takes chat completions; got another")
    seed = (task.seed * 1_000_003 + player.seed + assignment.member * 7_368_787) % 2**63
    async with player.policy_of(task).recording(seed, task.max_steps) as recording:
        start = now()
        try:
            ending = await harness.play(task, recording.access)
        finally:
            record("act", start, now())
        found = await recording.finish()
    if harness.options.reward == HTTP:
        ending = dataclasses.replace(ending, reward=found["reward"], success=found["success"])
    reward, outcome = verdict(harness.options, ending, answers=_answers(found), refused=found["refused"])
    threshold = task.verification.threshold
    least = harness.options.success_reward if threshold is None else threshold
    success = reward >= least if ending.success is None or threshold is not None else ending.success
    return trajectory_of_recorded(
        found["windows"],
        id=id,
        task=task,
        reward=reward,
        success=success,
        outcome=outcome,
        metadata={"status": ending.status, "output": ending.output[-KEPT_OUTPUT:]},
    )


def verdict(options: HarnessOptions, ending: ProgramEnd, *, answers: int, refused: int) -> tuple[float, Outcome]:
    """The reward and the outcome of an episode. Raises EnvironmentFailure for an episode that was lost."""
    if not answers:
        raise EnvironmentFailure("program", f"the program had no answer of the policy: {ending.how}")
    cut_off = ending.status is None or refused > 0
    outcome = Outcome.TRUNCATED if cut_off else Outcome.FINISHED
    if ending.reward is not None:
        return ending.reward, outcome
    if options.without_reward is not None:
        return options.without_reward, outcome
    if refused:
        return 0.0, outcome
    if ending.status is None:
        raise EnvironmentFailure(OVER_TIME, f"the program said no reward within {options.time_limit:g} s: {ending.how}")
    raise EnvironmentFailure(
        "program", f"the program said no reward ({options.reward}), and without_reward says none: {ending.how}"
    )


def _answers(found: dict[str, Any]) -> int:
    return sum(len(window) for window in found["windows"])
