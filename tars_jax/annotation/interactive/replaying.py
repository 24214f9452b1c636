"""Replay of the same steps in a new environment, compared one by one: so a step is undone, and a session resumed.

Exact where the same actions give the same observations: pages on virtual time, and whatever stands still between two
actions. Where they do not, the answer is which step was not the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from tars_jax.agent.grammar import parse_response
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.response import ParseError
from tars_jax.annotation.interactive.journal import digest
from tars_jax.annotation.interactive.recorded import DoneStep, EpisodeSoFar
from tars_jax.environment import EnvironmentFailure, Observation
from tars_jax.envs.checked import CheckedEnvironment


class NotTheSame(Exception):
    """The steps cannot be played again as they were. Its words say why, in one sentence."""


async def replayed(
    record: EpisodeSoFar, steps: Sequence[DoneStep], make: Callable[[], CheckedEnvironment], agent: AgentConfig
) -> CheckedEnvironment:
    """A new environment where these steps of the record have been done; one that fails is tried once more, as what it
    runs in may have been killed. Raises NotTheSame."""
    if any(done.decision.hidden for done in steps):
        raise NotTheSame("what was typed in secret is not kept, so the steps cannot be played again")
    try:
        return await _replayed(record, steps, make, agent)
    except EnvironmentFailure:
        pass
    try:
        return await _replayed(record, steps, make, agent)
    except EnvironmentFailure as error:
        raise NotTheSame(f"the environment failed when it was played again: {error}") from error


async def _replayed(
    record: EpisodeSoFar, steps: Sequence[DoneStep], make: Callable[[], CheckedEnvironment], agent: AgentConfig
) -> CheckedEnvironment:
    environment = make()
    try:
        seen = await environment.reset(record.task)
        _compare(seen, record.first, "the first observation is another one")
        for number, done in enumerate(steps, 1):
            if done.transition is None:
                continue
            before = record.observation(number - 1)
            size = agent.pixel_size(agent.seen(before))
            parsed = parse_response(done.decision.text, agent.grammar, space=record.space, pixel_size=size)
            if isinstance(parsed, ParseError):
                raise NotTheSame(f"step {number} cannot be read again: {parsed.message}")
            transition = await environment.step(parsed.actions)
            what = f"played again, step {number} led to another observation"
            _compare(transition.observation, done.transition.observation, what)
    except BaseException:
        with contextlib.suppress(Exception):
            await environment.close()
        raise
    return environment


def _compare(seen: Observation, before: Observation, words: str) -> None:
    if digest(seen.screenshot, seen.text) != digest(before.screenshot, before.text):
        raise NotTheSame(words)
