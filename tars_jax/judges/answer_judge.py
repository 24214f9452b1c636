"""The final answer against the task's reference, told by a model: of an answer there is no other evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.judges.judge import Judgement
from tars_jax.judges.judge_model import open_judge_model
from tars_jax.judges.reference import answer_of
from tars_jax.trajectory import Trajectory


class AnswerJudge:
    """Asks once for an episode. One that ended without an answer is a failure, and nobody is asked."""

    time_limit = 300.0

    def __init__(self, endpoint: Mapping[str, Any] | None = None) -> None:
        """`endpoint`: of the model, as `EndpointModel` has it; none: the embedded rules, which are the judge
        `reference`. Raises InputError for options that it does not have."""
        self._model = open_judge_model(endpoint)

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Raises InputError for a task without a reference."""
        reference = task.verification.reference
        if not reference.strip():
            raise InputError(f"verification.reference of task {task.id} must be the right answer; got ''")
        said = answer_of(trajectory)
        if said is None or not said.strip():
            return Judgement(0.0, False)
        question = trajectory.metadata.get("instruction") or task.instruction
        right = await self._model.answer(question, reference, said)
        return Judgement(float(right), right)
