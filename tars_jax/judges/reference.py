"""The embedded judge of answers: what `finished(content=...)` said is compared with the task's reference.

Numbers with units, dates, lists and names are compared by type, and a reference may hold alternatives (`answers/`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.agent.actions import Finished
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.environment import Task
from tars_jax.judges.admission import untold_answer
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.judge import Judgement
from tars_jax.trajectory import Trajectory


class ReferenceAnswer:
    """1 and success where the episode's answer is the task's `verification.reference`."""

    def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Raises CannotSay where the rules do."""
        answer = answer_of(trajectory)
        asked = trajectory.metadata.get("instruction") or task.instruction
        right = answer is not None and says_the_same(answer, task.verification.reference, asked)
        return Judgement(float(right), right)

    def untold(self, task: Task, others: Sequence[Task]) -> str:
        """As `admission.py` has it."""
        return untold_answer(task, others)


reference_answer = ReferenceAnswer()


def answer_of(trajectory: Trajectory) -> str | None:
    """What the last action told the user; None where the episode did not end with an answer."""
    parsed = parse_response(f"Action: {trajectory.steps[-1].action}", grammar="text", space=RECORDED)
    if isinstance(parsed, ParseError) or not isinstance(last := parsed.actions[-1], Finished):
        return None
    return last.content
