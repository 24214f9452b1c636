"""Whether a judge can tell the tasks of a set at all, asked before any of them is played.

A judge may have a method `why_undecidable(task, others)`: why it could not tell ends of the task, which is one of a
set with `others`; empty: nothing speaks against it. The rules know which demands and facts they have forms for; of
answers they are asked about right ones, as people say them, and about wrong ones, which are right for others. What a
model, or a judge of one's own, cannot say shows when episodes are played.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges.answers import alternatives, says_the_same
from tars_jax.judges.judge import MOST_UNJUDGED, Judge

NEIGHBORS = 8  # whose answers are wrong ones
FORMS = (
    "{answer}", "{answer}.", "The answer is {answer}.", "Final answer: {answer}", "**{answer}**", "\\boxed{{{answer}}}",
    "I think it is {answer}.",
)  # fmt: skip


def require_decidable(tasks: Iterable[tuple[Task, Judge | None]]) -> None:
    """Checks that tasks with their judges can be decided. Raises InputError where a fifth or more of them cannot,
    however few."""
    known = [(task, judge) for task, judge in tasks if judge is not None]
    others = [task for task, _ in known]
    asked = [(task, _why_undecidable(judge, task, others)) for task, judge in known]
    untold = [(task, why) for task, why in asked if why]
    if untold and len(untold) >= MOST_UNJUDGED * len(asked):
        task, why = untold[0]
        raise InputError(
            f"task.judge must be able to tell these tasks; it could not say of {len(untold)} of {len(asked)}, of "
            f"{task.id} because {why:.300}; a judge with an endpoint may"
        )


def require_reference(task: Task) -> None:
    """Raises InputError for a reference that holds no answer."""
    if not alternatives(task.verification.reference):
        raise InputError(
            f"verification.reference of task {task.id} must be the right answer; got {task.verification.reference!r}"
        )


def why_answer_undecidable(task: Task, others: Sequence[Task]) -> str:
    """The reason why the rules miss a fifth or more of right answers, or cannot say of as many wrong ones; empty: they
    can.

    Raises InputError for a reference that holds no answer.
    """
    require_reference(task)
    question, reference = task.instruction, task.verification.reference
    own = alternatives(reference)
    if not question:
        return ""
    found = dict.fromkeys(answer for each in others for answer in alternatives(each.verification.reference)[:1])
    wrong = [answer for answer in found if answer not in own][:NEIGHBORS]
    for said, is_right in (([form.format(answer=own[0]) for form in FORMS], True), (wrong, False)):
        reasons = [why for answer in said if (why := _why_not(answer, reference, question, is_right=is_right))]
        if reasons and len(reasons) >= MOST_UNJUDGED * len(said):
            return reasons[0]
    return ""


def _why_not(said: str, reference: str, question: str, *, is_right: bool) -> str:
    try:
        told = says_the_same(said, reference, question)
    except CannotSay as verdict:
        return str(verdict) or "rules cannot tell"
    return f"{said!r:.60} is refused for {reference!r:.60}" if is_right and not told else ""


def _why_undecidable(judge: Judge, task: Task, others: Sequence[Task]) -> str:
    preview = getattr(judge.function, "why_undecidable", None)
    return str(preview(task, others)) if preview else ""
