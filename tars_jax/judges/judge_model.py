"""Questions that judges ask a model, whatever answers: an endpoint (`endpoint.py`), or rules (`rule_model.py`), the
default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tars_jax.judges.evidence import Evidence, KeptObservation, Scored


class JudgeModel(Protocol):
    """Methods raise UnreadableVerdict for an answer in no closed form, JudgeUnavailable where nobody answers, CannotSay
    where it answers that it cannot tell."""

    async def key_points(self, instruction: str) -> Sequence[str]:
        """Conditions that must hold for the instruction to be carried out."""
        ...

    async def score(self, evidence: Evidence, points: Sequence[str], number: int) -> Scored:
        """Scores observation `number`, from 1."""
        ...

    async def verdict(self, evidence: Evidence, points: Sequence[str], kept: Sequence[KeptObservation]) -> bool:
        """Whether all key points are met, from the actions and the observations that were kept."""
        ...

    async def fact(self, evidence: Evidence, fact: str) -> int | None:
        """The number of an observation that shows the fact, from 1; None where it does not hold."""
        ...

    async def answer(self, question: str, reference: str, said: str) -> bool:
        """Whether what was said to a question is right by its reference, which may hold alternatives."""
        ...


def open_judge_model(endpoint: Mapping[str, Any] | None) -> JudgeModel:
    """The model at an endpoint, with the options of `EndpointModel`; without one, the rules.

    Raises InputError for options that it does not have.
    """
    if not endpoint:
        from tars_jax.judges.rule_model import RuleModel

        return RuleModel()
    from tars_jax.judges.endpoint import EndpointModel  # HTTP clients, which rules do without

    return EndpointModel.with_options(endpoint)
