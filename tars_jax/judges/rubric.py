"""A rubric of facts: each is told by itself, yes or no, and a yes names the observation that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges.evidence import evidence_of
from tars_jax.judges.judge import Judgement
from tars_jax.judges.judge_model import open_judge_model
from tars_jax.judges.requirements import stated
from tars_jax.judges.rule_model import why_undecided
from tars_jax.judges.webjudge import TIME_LIMIT_S
from tars_jax.trajectory import Trajectory


class RubricJudge:
    """Success is that all facts hold. The facts are the lines of the task's `verification.reference`."""

    time_limit = TIME_LIMIT_S

    def __init__(
        self,
        endpoint: Mapping[str, Any] | None = None,
        facts: Sequence[str] = (),
        partial: bool = False,
        answer: bool = False,
        parallel: int = 4,
    ) -> None:
        """
        Args:
          endpoint: of the model, as `EndpointModel` has it; none: the embedded rules.
          facts: of tasks that have none of their own.
          partial: the reward is the share of the facts that hold, instead of 1 where all do.
          answer: the final answer is shown, too, marked as a claim.
          parallel: questions at the same time.
        """
        if isinstance(facts, str) or not all(isinstance(fact, str) and fact.strip() for fact in facts):
            raise InputError(f"judge option facts must be a list of sentences; got {facts!r:.100}")
        if type(parallel) is not int or parallel < 1:
            raise InputError(f"judge option parallel must be a whole number of 1 or more; got {parallel!r}")
        self._model, self._facts, self._partial = open_judge_model(endpoint), tuple(facts), partial
        self._answer, self._parallel, self._has_model = answer, parallel, bool(endpoint)

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Judges every fact: one that does not hold is a failure; otherwise one that the model cannot tell raises
        CannotSay. Raises InputError for a task without facts."""
        facts = self._facts_of(task)
        if not facts:
            raise InputError(f"verification.reference of task {task.id} must hold facts, one a line; got none")
        evidence = evidence_of(trajectory, task, with_claim=self._answer)
        places = asyncio.Semaphore(self._parallel)

        async def holds(fact: str) -> bool | CannotSay:
            async with places:
                try:
                    return await self._model.fact(evidence, fact) is not None
                except CannotSay as verdict:
                    return verdict

        held = await asyncio.gather(*(holds(fact) for fact in facts))
        for verdict in held:
            if isinstance(verdict, CannotSay) and (self._partial or False not in held):
                raise verdict
        success = all(verdict is True for verdict in held)
        return Judgement(held.count(True) / len(held) if self._partial else float(success), success)

    def why_undecidable(self, task: Task, others: Sequence[Task]) -> str:
        """The reason of `judge_coverage.py` why the rubric cannot be judged; empty: it can."""
        facts = [] if self._has_model else self._facts_of(task)
        return why_undecided([stated(fact) for fact in facts], facts)

    def _facts_of(self, task: Task) -> list[str]:
        own = [line.strip() for line in task.verification.reference.splitlines() if line.strip()]
        return own or list(self._facts)
