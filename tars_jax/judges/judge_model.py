"""What judges ask a model, whatever answers: an endpoint (`endpoint.py`), or the rules here, which need none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tars_jax.environment import Observation
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.evidence import Evidence
from tars_jax.judges.reference import normalized


class Scored(NamedTuple):
    """How much an observation tells about the key points."""

    score: int  # 1 (nothing) to 5
    reason: str


class Kept(NamedTuple):
    """An observation that the verdict is told from."""

    number: int  # from 1, in the episode
    observation: Observation
    reason: str


class JudgeModel(Protocol):
    """Methods raise UnreadableVerdict for an answer in no closed form, JudgeUnavailable where nobody answers."""

    async def key_points(self, instruction: str) -> Sequence[str]:
        """What has to be so for the instruction to be carried out."""
        ...

    async def score(self, evidence: Evidence, points: Sequence[str], number: int) -> Scored:
        """Of observation `number`, from 1."""
        ...

    async def verdict(self, evidence: Evidence, points: Sequence[str], kept: Sequence[Kept]) -> bool:
        """Whether all key points are met, from the actions and the observations that were kept."""
        ...

    async def fact(self, evidence: Evidence, fact: str) -> int | None:
        """The number of an observation that shows the fact, from 1; None where it does not hold."""
        ...

    async def answer(self, question: str, reference: str, said: str) -> bool:
        """Whether what was said to a question is right by its reference, which may hold alternatives."""
        ...


_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|'([^']+)'(?!\w)")
_PLAIN_WORDS = frozenset(
    normalized(
        "and are as at be by do does find for from get go has have in into is it its of on open or set show so that "
        "their then there this to up use was what which with you your a an"
    )
)


class RuleModel:
    """The embedded default: what is named must be seen, as text, in an observation. Deterministic, and blind to pixels.

    Key points are what the instruction quotes, or its words that are no plain ones; a fact, or a key point, is shown by
    an observation that has all of its words. The agent's actions are no sight of anything.
    """

    async def key_points(self, instruction: str) -> Sequence[str]:
        quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(instruction)]
        return quoted or list(dict.fromkeys(_words(instruction))) or [instruction]

    async def score(self, evidence: Evidence, points: Sequence[str], number: int) -> Scored:
        seen = set(_words(evidence.observations[number - 1].text))
        shown = [point for point in points if _shows(seen, point)]
        return Scored(1 + round(4 * len(shown) / max(len(points), 1)), ", ".join(shown))

    async def verdict(self, evidence: Evidence, points: Sequence[str], kept: Sequence[Kept]) -> bool:
        seen = {word for each in kept for word in _words(each.observation.text)}
        return all(_shows(seen, point) for point in points)

    async def fact(self, evidence: Evidence, fact: str) -> int | None:
        shown = [
            number
            for number, observation in enumerate(evidence.observations, 1)
            if _shows(set(_words(observation.text)), fact)
        ]
        return shown[-1] if shown else None

    async def answer(self, question: str, reference: str, said: str) -> bool:
        return says_the_same(said, reference, question)


def _words(text: str) -> list[str]:
    return [word for word in normalized(text) if word not in _PLAIN_WORDS]


def _shows(seen: set[str], point: str) -> bool:
    words = _words(point)
    return bool(words) and seen.issuperset(words)


def open_judge_model(endpoint: Mapping[str, Any] | None) -> JudgeModel:
    """The model at an endpoint, with the options of `EndpointModel`; without one, the rules.

    Raises InputError for options that it does not have.
    """
    if not endpoint:
        return RuleModel()
    from tars_jax.judges.endpoint import EndpointModel  # HTTP clients, which rules do without

    return EndpointModel.with_options(endpoint)
