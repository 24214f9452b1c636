"""The embedded judge of answers: what `finished(content=...)` said is compared with the task's reference.

Numbers with units, dates, lists and names are compared by type, and a reference may hold alternatives (`answers/`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.agent.actions import Finished, ToolCall
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.environment import Task
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.judge import Judgement
from tars_jax.judges.judge_coverage import require_reference, why_answer_undecidable
from tars_jax.trajectory import Trajectory

ANSWER = "answer"


class ReferenceAnswer:
    """1 and success where the episode's answer is the task's `verification.reference`."""

    def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Raises CannotSay where the rules do, InputError for a task without a reference."""
        require_reference(task)
        answer = answer_of(trajectory)
        asked = trajectory.metadata.get("instruction") or task.instruction
        right = answer is not None and says_the_same(answer, task.verification.reference, asked)
        return Judgement(float(right), right)

    def why_undecidable(self, task: Task, others: Sequence[Task]) -> str:
        """The reason of `judge_coverage.py` why the rules cannot judge a task; empty: they can."""
        return why_answer_undecidable(task, others)


reference_answer = ReferenceAnswer()


def answer_of(trajectory: Trajectory) -> str | None:
    """Answer that the last action told the user, by `finished` or by a function `answer` of one text; None where the
    episode did not end with an answer, or its last step with two."""
    parsed = parse_response(f"Action: {trajectory.steps[-1].action}", grammar="text", space=RECORDED)
    actions = () if isinstance(parsed, ParseError) else parsed.actions
    last = actions[-1] if actions else None
    if any(isinstance(each, Finished) and each != last for each in actions[:-1]):
        return None
    if isinstance(last, ToolCall) and last.name == ANSWER:
        texts = list(last.parameters.values())
        return texts[0] if len(texts) == 1 and isinstance(texts[0], str) else None
    return last.content if isinstance(last, Finished) else None
