"""Reviews: reviewers look at tasks that two people ended or decided otherwise, steps where person and policy differ,
reviews that do not agree with what was done."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from tars_jax.annotation.interactive.journal_entries import JournaledEpisode
from tars_jax.annotation.interactive.recorded import DoneStep
from tars_jax.annotation.interactive.view import verdict_of

MOST = 100


def disagreements(episodes: Mapping[str, JournaledEpisode]) -> dict[str, Any]:
    """All three kinds, the greatest differences first."""
    return {
        "tasks": _between_people(episodes),
        "steps": _with_the_policy(episodes)[:MOST],
        "reviews": _with_reviewers(episodes),
    }


def _with_reviewers(episodes: Mapping[str, JournaledEpisode]) -> list[dict[str, Any]]:
    return [
        {
            "episode": id, "task": kept.record.task.id, "annotators": list(kept.annotators),
            "verdict": verdict_of(kept), "reviewer": review["name"], "note": review["note"],
        }
        for id, kept in episodes.items()
        for review in kept.reviews
        if not review["agree"]
    ]  # fmt: skip


def _between_people(episodes: Mapping[str, JournaledEpisode]) -> list[dict[str, Any]]:
    by_task: dict[str, list[tuple[str, JournaledEpisode]]] = {}
    for id, kept in episodes.items():
        if kept.ended is not None:
            by_task.setdefault(kept.record.task.id, []).append((id, kept))
    found = []
    for task, some in by_task.items():
        for (first_id, first), (second_id, second) in itertools.combinations(some, 2):
            step = _parting(first, second)
            people = [_who(first, step), _who(second, step)]
            if people[0] == people[1]:
                continue
            verdicts = [verdict_of(first), verdict_of(second)]
            if step is not None or verdicts[0] != verdicts[1]:
                found.append(
                    {
                        "task": task, "episodes": [first_id, second_id], "verdicts": verdicts,
                        "annotators": people, "step": step,
                    }
                )  # fmt: skip
    return sorted(found, key=lambda each: each["verdicts"][0] == each["verdicts"][1])


def _who(kept: JournaledEpisode, step: int | None) -> str:
    """The people who decided a step; where it was the policy, or at no step, all who had the episode."""
    decided = "" if step is None else kept.record.steps[step].decision.annotator
    return decided or ", ".join(kept.annotators)


def _parting(first: JournaledEpisode, second: JournaledEpisode) -> int | None:
    """The first step at which, having seen the same, they did something else."""
    for number, (one, other) in enumerate(zip(first.record.steps, second.record.steps, strict=False)):
        if one.decision.action != other.decision.action:
            return number
    return None


def _with_the_policy(episodes: Mapping[str, JournaledEpisode]) -> list[dict[str, Any]]:
    rows = [
        {
            "episode": id, "task": kept.record.task.id, "step": number, "annotator": done.decision.annotator,
            "chosen": done.decision.text, "policy": done.candidates[0].text, "agreed": agreed(done),
        }
        for id, kept in episodes.items()
        for number, done in enumerate(kept.record.steps)
        if done.candidates and done.decision.by_person and not done.decision.accepted
    ]  # fmt: skip
    return sorted(rows, key=lambda row: float(str(row["agreed"])))


def agreed(done: DoneStep) -> float:
    """The policy's probability of doing what the person did, 0 to 1."""
    return sum(each.probability for each in done.candidates if each.action == done.decision.action and each.valid)
