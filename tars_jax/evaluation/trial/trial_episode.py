"""An episode of a trial, with all that is to be read of it: what was seen, said and done, what came of it, how long it
took."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.loop import AgentConfig, PolicySession, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.window import SampledResponse
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec
from tars_jax.judges import Judge, JudgeFailure
from tars_jax.judges.rewards import judged_together
from tars_jax.rollout.players import Player, PrivilegedEnvironment
from tars_jax.training.progress import working
from tars_jax.trajectory import Trajectory

REPEATED = 64  # turns of an episode that are played again, whatever time they take


@dataclasses.dataclass(frozen=True)
class Subject:
    """An environment that is tried, and how an agent meets it. `writer` cuts no text."""

    spec: EnvironmentSpec
    resources: EnvironmentResources
    writer: PromptWriter
    agent: AgentConfig
    judge: Judge | None = None  # of whole episodes, such as a rubric; None: the environment tells itself


@dataclasses.dataclass(frozen=True)
class TrialTurn:
    """An answer of the player and what came of it."""

    seen: Observation  # before it
    response: str
    actions: tuple[Any, ...] = ()  # empty: the answer could not be read, and nothing was done
    transition: Transition | None = None  # None: nothing was done, or the environment failed
    refused: str = ""  # why the answer could not be read
    seconds: float = 0.0  # that the environment took


@dataclasses.dataclass(frozen=True)
class TrialEpisode:
    """An episode, as far as it went."""

    task: Task
    instruction: str
    space: ActionSpace
    first: Observation
    reset_seconds: float
    turns: tuple[TrialTurn, ...]
    trajectory: Trajectory | None  # None where the environment failed
    failure: str = ""  # how
    unjudged: str = ""  # how its judge failed

    @property
    def observations(self) -> list[Observation]:
        """Observations in order, the last one among them."""
        return [self.first, *(turn.transition.observation for turn in self.turns if turn.transition is not None)]

    @property
    def transitions(self) -> list[Transition]:
        return [turn.transition for turn in self.turns if turn.transition is not None]

    @property
    def done(self) -> list[tuple[Any, ...]]:
        """The actions of each turn that had any."""
        return [turn.actions for turn in self.turns if turn.actions]

    @property
    def total(self) -> float:
        """The return; a judge's, where there is one."""
        if self.trajectory is not None:
            return self.trajectory.reward
        return sum(transition.reward for transition in self.transitions)

    @property
    def success(self) -> bool | None:
        """Success by the task, where the episode came to its end."""
        return None if self.trajectory is None else self.trajectory.success


class _Witness:
    """The environment and the player of an episode, with what passed between them."""

    def __init__(self, environment: CheckedEnvironment, first: Observation, writer: PromptWriter) -> None:
        self._environment, self._writer, self._seen = environment, writer, first
        self._policy: PolicySession | None = None
        self.turns: list[TrialTurn] = []

    def listen(self, policy: PolicySession) -> _Witness:
        self._policy = policy
        return self

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        assert self._policy is not None
        sampled = await self._policy.respond(tokens, images, restart=restart)
        self.turns.append(TrialTurn(self._seen, self._writer.read(sampled.tokens)))
        return sampled

    async def step(self, actions: Sequence[Any]) -> Transition:
        self.turns[-1] = turn = dataclasses.replace(self.turns[-1], actions=tuple(actions))
        start = time.perf_counter()
        transition = await step(self._environment, actions)
        took = time.perf_counter() - start
        self.turns[-1] = dataclasses.replace(turn, transition=transition, seconds=took)
        self._seen = transition.observation
        return transition

    def refuse(self, observation: Observation, message: str) -> Observation:
        self.turns[-1] = dataclasses.replace(self.turns[-1], refused=message)
        self._seen = dataclasses.replace(observation, text=message)
        return self._seen


async def begin(environment: CheckedEnvironment, task: Task) -> tuple[Observation, float]:
    """The first observation, and the seconds that it took. Raises EnvironmentFailure, InputError."""
    start = time.perf_counter()
    with working(f"waiting for its reset, seed {task.seed}:"):
        first = await environment.reset(task)
    return first, time.perf_counter() - start


async def step(environment: CheckedEnvironment, actions: Sequence[Any]) -> Transition:
    """The environment's own step; one that takes long is announced."""
    with working(f"waiting for its step {', '.join(map(format_call, actions))[:80]}:"):
        return await environment.step(actions)


async def play(subject: Subject, environment: CheckedEnvironment, task: Task, player: Player) -> TrialEpisode:
    """Raises EnvironmentFailure where the episode cannot begin, InputError for a task that the environment refuses."""
    first, took = await begin(environment, task)
    witness = _Witness(environment, first, subject.writer)
    privileged = PrivilegedEnvironment(witness, first, environment.action_space)
    played = TrialEpisode(
        task, environment.instruction or task.instruction, environment.action_space, first, took, (), None
    )
    trajectory, failure, unjudged = None, "", ""
    try:
        async with player(privileged, task) as policy:
            trajectory = await play_episode(
                privileged,
                first,
                witness.listen(policy),
                subject.writer,
                subject.agent,
                id=task.id,
                task=task,
                instruction=played.instruction,
                space=played.space,
                refused=witness.refuse,
            )
        if subject.judge is not None:
            with working(f"waiting for the judge {subject.judge.name}:"):
                (trajectory,) = await judged_together([await subject.judge.judged(trajectory, task)])
    except EnvironmentFailure as error:
        failure = str(error)
    except JudgeFailure as error:
        unjudged = str(error)
    turns = tuple(witness.turns)
    return dataclasses.replace(played, turns=turns, trajectory=trajectory, failure=failure, unjudged=unjudged)


async def repeat(
    environment: CheckedEnvironment, task: Task, done: Sequence[Sequence[Any]], end: float
) -> TrialEpisode:
    """Repeats the same actions until the episode ends; of many, those for which there is time. Raises as `play`."""
    first, took = await begin(environment, task)
    turns, seen, failure = list[TrialTurn](), first, ""
    for number, actions in enumerate(done):
        if number >= REPEATED and time.monotonic() > end:
            break
        start = time.perf_counter()
        try:
            transition = await step(environment, actions)
        except EnvironmentFailure as error:
            failure = str(error)
            break
        turns.append(TrialTurn(seen, "", tuple(actions), transition, seconds=time.perf_counter() - start))
        seen = transition.observation
        if transition.terminated or transition.truncated:
            break
    space, instruction = environment.action_space, environment.instruction or task.instruction
    return TrialEpisode(task, instruction, space, first, took, tuple(turns), None, failure)
