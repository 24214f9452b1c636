"""Several judges, or one several times: success is what all of them say, which suppresses false positives."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges.judge import Judge, JudgeFailure, Judgement, JudgeUnavailable, UnreadableVerdict
from tars_jax.judges.webjudge import TIME_LIMIT_S
from tars_jax.trajectory import Trajectory

RULES = ("unanimous", "majority")
_GRAVEST_FIRST: tuple[type[Exception], ...] = (JudgeUnavailable, UnreadableVerdict, JudgeFailure, CannotSay)


class Votes:
    """Asks all its judges at the same time, once each."""

    time_limit = TIME_LIMIT_S

    def __init__(self, judges: Sequence[Judge], rule: str = "unanimous") -> None:
        """`rule`: success where all say so, or where more than half do. Raises InputError for another, and for fewer
        than two judges."""
        if rule not in RULES:
            raise InputError(f"judge option rule must be one of {', '.join(RULES)}; got {rule!r}")
        if len(judges) < 2:
            raise InputError(f"judge option judges must make two votes or more; got {len(judges)}")
        self._judges, self._rule = tuple(judges), rule

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Raises, where votes without a verdict would decide: JudgeUnavailable where a judge is away,
        UnreadableVerdict where one was not understood, else CannotSay. InputError for a judge that never has a verdict.
        """
        votes = await asyncio.gather(*(_vote(judge, trajectory, task) for judge in self._judges))
        yes, no = votes.count(True), votes.count(False)
        needed = len(votes) if self._rule == "unanimous" else len(votes) // 2 + 1
        if yes >= needed:
            return Judgement(1.0, True)
        if no > len(votes) - needed:  # whatever the others would have said
            return Judgement(0.0, False)
        absent = [vote for vote in votes if isinstance(vote, Exception)]
        kind = next(kind for kind in _GRAVEST_FIRST if any(isinstance(vote, kind) for vote in absent))
        first = next(vote for vote in absent if isinstance(vote, kind))
        raise kind(f"{len(absent)} of {len(votes)} votes gave no verdict, which decide: {first}")

    def why_undecidable(self, task: Task, others: Sequence[Task]) -> str:
        """The reason why too few judges are left for a success; empty: there are enough."""
        previews = [getattr(judge.function, "why_undecidable", None) for judge in self._judges]
        reasons = [why for preview in previews if preview and (why := preview(task, others))]
        needed = len(previews) if self._rule == "unanimous" else len(previews) // 2 + 1
        return str(reasons[0]) if len(previews) - len(reasons) < needed else ""

    def close(self) -> None:
        for judge in self._judges:
            judge.close()


async def _vote(judge: Judge, trajectory: Trajectory, task: Task) -> bool | JudgeFailure | CannotSay:
    try:
        success = (await judge.judgement(trajectory, task)).success
    except (JudgeFailure, CannotSay) as failure:
        return failure
    if success is None:
        raise InputError(f"judge {judge.name} must give a verdict to vote; got None")
    return success


def voting(load: Callable[[str, Mapping[str, Any]], Judge], judges: Any, rule: str = "unanimous") -> Votes:
    """Votes from options: `judges` is a list of {"judge": name, "options": {...}, "votes": n}; of several votes by one
    endpoint, each has a seed of its own.

    Raises InputError for anything else.
    """
    if not isinstance(judges, Sequence) or isinstance(judges, str):
        raise InputError(f'judge option judges must be a list of {{"judge": ...}}; got {judges!r:.100}')
    made: list[Judge] = []
    for number, each in enumerate(judges):
        where = f"judge option judges[{number}]"
        if not isinstance(each, Mapping) or not isinstance(each.get("judge"), str) or each["judge"] == "votes":
            raise InputError(f"{where} must name a judge that is not votes itself; got {each!r:.100}")
        if unknown := sorted(each.keys() - {"judge", "options", "votes"}):
            raise InputError(f"{where} must have judge, options and votes; got {unknown[0]!r}")
        votes, options = each.get("votes", 1), each.get("options", {})
        if type(votes) is not int or votes < 1 or not isinstance(options, Mapping):
            raise InputError(f"{where} must have votes of 1 or more, and options as an object; got {each!r:.100}")
        for vote in range(votes):
            endpoint = options.get("endpoint")
            seeded = {"endpoint": {**endpoint, "seed": endpoint.get("seed", 0) + vote}} if endpoint else {}
            judge = load(each["judge"], {**options, **seeded})
            made.append(dataclasses.replace(judge, attempts=1))  # all votes are asked again together
    return Votes(made, rule)
