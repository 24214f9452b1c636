"""The final answer against the task's reference: the embedded rules first, a model where these cannot say."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.judge import Judgement
from tars_jax.judges.judge_coverage import require_reference, why_answer_undecidable
from tars_jax.judges.judge_model import open_judge_model
from tars_jax.judges.reference import answer_of
from tars_jax.trajectory import Trajectory

RULES = ("first", "none")


class AnswerJudge:
    """Asks once for an episode whose answer the rules cannot tell, or for every one. One that ended without an answer
    is a failure, and nobody is asked."""

    time_limit = 300.0

    def __init__(self, endpoint: Mapping[str, Any] | None = None, rules: str = "first") -> None:
        """`endpoint`: of the model, as `EndpointModel` has it; none: the embedded rules alone, which are the judge
        `reference`. `rules`: "first", the model is asked where they cannot say; "none", it is asked of every answer.

        Raises InputError for options that it does not have, and for another value of `rules`.
        """
        if rules not in RULES:
            raise InputError(f"judge option rules must be one of {', '.join(RULES)}; got {rules!r:.60}")
        self._asks_rules, self._has_model = rules == "first", bool(endpoint)
        self._model = open_judge_model(endpoint)

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Raises InputError for a task without a reference; CannotSay where the rules cannot, and there is no model."""
        reference = task.verification.reference
        require_reference(task)
        said = answer_of(trajectory)
        if said is None or not said.strip():
            return Judgement(0.0, False)
        question = trajectory.metadata.get("instruction") or task.instruction
        if self._asks_rules:
            with contextlib.suppress(CannotSay):
                return _judgement(says_the_same(said, reference, question))
        return _judgement(await self._model.answer(question, reference, said))

    def why_undecidable(self, task: Task, others: Sequence[Task]) -> str:
        """The reason of `judge_coverage.py`, unless there is a model: that may say what the rules cannot."""
        require_reference(task)
        return "" if self._has_model else why_answer_undecidable(task, others)


def _judgement(right: bool) -> Judgement:
    return Judgement(float(right), right)
