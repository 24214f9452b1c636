"""Proposals of the policy: k answers on the live window, each distinct one with its probability and its marks."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from tars_jax.agent import Response, parse_response
from tars_jax.agent.actions import Action, Drag, action_point
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.loop import PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import ParseError
from tars_jax.agent.window import SampledResponse
from tars_jax.annotation.interactive.core import Candidate, Mark
from tars_jax.environment import ActionSpace, Observation, Task
from tars_jax.rollout.players import Player, PrivilegedEnvironment


class PolicyAway(Exception):
    """The policy gives no answer; a person may go on without it."""

    def __init__(self, why: str, *, comes_back: bool = True) -> None:
        """`comes_back`: it may answer later, and is asked again."""
        super().__init__(why)
        self.comes_back = comes_back


class Proposer(Protocol):
    """The policy of one episode."""

    async def propose(self, tokens: Sequence[int], images: Sequence[np.ndarray]) -> Sequence[SampledResponse]:
        """Answers to a whole window, the policy's own draw first. Raises PolicyAway."""
        ...

    async def close(self) -> None: ...


class ProposingPolicy(Protocol):
    """Source of the episodes' proposers."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    def proposer(self, privileged: PrivilegedEnvironment, task: Task) -> Proposer: ...


@dataclasses.dataclass(frozen=True)
class PlayerPolicy:
    """Any player of the rollouts (an engine's, a server's, a scripted one) as a policy that proposes `k` answers."""

    player: Player
    k: int
    name: str
    version_of: Callable[[], int] = lambda: 0
    patience: float = 60.0  # seconds for all answers to one window
    not_ready: Callable[[], str] = lambda: ""  # why it cannot be asked yet

    @property
    def version(self) -> int:
        return self.version_of()

    def proposer(self, privileged: PrivilegedEnvironment, task: Task) -> Proposer:
        return _PlayerProposer(self, privileged, task)


class _PlayerProposer:
    """`k` sessions, each with a random stream of its own; every step is a window of its own."""

    def __init__(self, policy: PlayerPolicy, privileged: PrivilegedEnvironment, task: Task) -> None:
        self._policy, self._privileged, self._task = policy, privileged, task
        self._stack = contextlib.AsyncExitStack()
        self._sessions: list[PolicySession] = []
        self._watched: list[PrivilegedEnvironment] = []

    async def propose(self, tokens: Sequence[int], images: Sequence[np.ndarray]) -> Sequence[SampledResponse]:
        if why := self._policy.not_ready():
            raise PolicyAway(why)
        try:
            async with asyncio.timeout(self._policy.patience):
                if not self._sessions:
                    await self._open()
                for watched in self._watched:
                    watched.observation = self._privileged.observation
                answers = (session.respond(tokens, images, restart=True) for session in self._sessions)
                return await asyncio.gather(*answers)
        except TimeoutError as error:
            await self.close()
            raise PolicyAway(f"no answer within {self._policy.patience:g} seconds") from error
        except Exception as error:
            # Whatever a policy's server, engine or player does wrong must not cost the person their session.
            await self.close()
            raise PolicyAway(f"{str(error) or type(error).__name__:.300}") from error

    async def _open(self) -> None:
        self._watched = [dataclasses.replace(self._privileged, member=member) for member in range(self._policy.k)]
        async with contextlib.AsyncExitStack() as stack:
            players = (self._policy.player(watched, self._task) for watched in self._watched)
            self._sessions = [await stack.enter_async_context(player) for player in players]
            self._stack = stack.pop_all()

    async def close(self) -> None:
        self._sessions = []
        with contextlib.suppress(Exception):
            await self._stack.aclose()


def candidates_of(
    answers: Sequence[SampledResponse],
    writer: PromptWriter,
    grammar: str,
    space: ActionSpace,
    pixel_size: tuple[int, int] | None = None,
) -> tuple[Candidate, ...]:
    """The distinct answers in the order in which they came: the policy's own draw first.

    Probabilities are renormalized over them: by the answers' log-probabilities where the policy says them, else by how
    often each came.
    """
    texts = [writer.read(answer.tokens) for answer in answers]
    distinct = list(dict.fromkeys(texts))
    first = {text: answers[texts.index(text)] for text in distinct}
    exact = all(version >= 0 for answer in answers for version in answer.versions)
    logs = {text: math.fsum(first[text].log_probs) if exact else math.log(texts.count(text)) for text in distinct}
    most = max(logs.values(), default=0.0)
    weights = {text: math.exp(log - most) for text, log in logs.items()}
    total = math.fsum(weights.values())
    found = []
    for text in distinct:
        thought, action, error, marks = read_answer(text, grammar, space, pixel_size)
        sampled = first[text]
        found.append(
            Candidate(
                text, thought, action, error, tuple(map(int, sampled.tokens)), tuple(map(float, sampled.log_probs)),
                tuple(map(int, sampled.versions)), logs[text] if exact else None, weights[text] / total, marks,
            )
        )  # fmt: skip
    return tuple(found)


def read_answer(
    text: str, grammar: str, space: ActionSpace, pixel_size: tuple[int, int] | None = None
) -> tuple[str, str, str, tuple[Mark, ...]]:
    """(thought, canonical calls, what is wrong with it, where it points); of what is wrong the rest is empty."""
    parsed = parse_response(text, grammar=grammar, space=space, pixel_size=pixel_size)
    if isinstance(parsed, ParseError):
        return "", "", parsed.message, ()
    calls = "\n\n".join(format_call(action) for action in parsed.actions)
    return parsed.thought, calls, "", marks_of(parsed)


def marks_of(response: Response) -> tuple[Mark, ...]:
    return tuple(mark for action in response.actions for mark in _mark(action))


def _mark(action: Action) -> tuple[Mark, ...]:
    if isinstance(action, Drag):
        start, end = action.start_point, action.end_point
        return (Mark("drag", start.x / 1000, start.y / 1000, end.x / 1000, end.y / 1000),)
    point = action_point(action)
    return () if point is None else (Mark("point", point.x / 1000, point.y / 1000),)


@dataclasses.dataclass
class NoPolicy:
    """A policy that proposes nothing: every answer is the person's own."""

    name: str = "none"
    version: int = 0

    def proposer(self, privileged: PrivilegedEnvironment, task: Task) -> Proposer:
        return self

    async def propose(self, tokens: Sequence[int], images: Sequence[np.ndarray]) -> Sequence[SampledResponse]:
        raise PolicyAway("there is none; the answers are yours", comes_back=False)

    async def close(self) -> None:
        """Does nothing: no resources are held."""


def observed_size(observation: Observation) -> tuple[int, int] | None:
    """(width, height) of its screenshot."""
    return None if observation.pixels is None else (observation.pixels.shape[1], observation.pixels.shape[0])
