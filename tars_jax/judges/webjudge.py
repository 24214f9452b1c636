"""Key points and key screenshots: the judge of Online-Mind2Web (WebJudge, arXiv 2504.01382).

The task's key points; how much each observation tells about them, 1 to 5; a verdict from the key points, the numbered
actions and the observations that tell enough. The agent's thoughts and its final answer are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.judges.evidence import KeptObservation, Scored, evidence_of
from tars_jax.judges.judge import Judgement, add_details
from tars_jax.judges.judge_model import open_judge_model
from tars_jax.judges.requirements import clauses_of, demanded
from tars_jax.judges.rule_model import why_undecided
from tars_jax.trajectory import Trajectory

TIME_LIMIT_S = 600.0


class WebJudge:
    """Asks once for the key points, once for each observation, and once for the verdict."""

    time_limit = TIME_LIMIT_S

    def __init__(
        self,
        endpoint: Mapping[str, Any] | None = None,
        threshold: int = 3,
        most_observations: int = 50,
        answer: bool = False,
        parallel: int = 4,
    ) -> None:
        """
        Args:
          endpoint: of the model, as `EndpointModel` has it; none: the embedded rules.
          threshold: an observation is kept from this score on.
          most_observations: that are kept; of more, those of the highest scores, and among equal ones the latest.
          answer: the final answer is judged, too, marked as a claim: for tasks that ask for one.
          parallel: questions at the same time.

        Raises InputError for numbers that are impossible.
        """
        for name, number, most in (
            ("threshold", threshold, 5),
            ("most_observations", most_observations, 10_000),
            ("parallel", parallel, 1_000),
        ):
            if type(number) is not int or not 1 <= number <= most:
                raise InputError(f"judge option {name} must be a whole number from 1 to {most}; got {number!r}")
        self._model, self._has_model = open_judge_model(endpoint), bool(endpoint)
        self._threshold, self._most, self._answer, self._parallel = threshold, most_observations, answer, parallel

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Raises CannotSay where the model does. What it goes by is in the episode's `metadata["judge_details"]`."""
        evidence = evidence_of(trajectory, task, with_claim=self._answer)
        points = await self._model.key_points(evidence.instruction)
        places = asyncio.Semaphore(self._parallel)

        async def scored(number: int) -> tuple[int, Scored]:
            async with places:
                return number, await self._model.score(evidence, points, number)

        scores = await asyncio.gather(*(scored(number + 1) for number in range(len(evidence.observations))))
        telling = [(number, found) for number, found in scores if found.score >= self._threshold]
        telling.sort(key=lambda each: (-each[1].score, -each[0]))
        kept = [
            KeptObservation(number, evidence.observations[number - 1], found.reason)
            for number, found in sorted(telling[: self._most], key=lambda each: each[0])
        ]
        success = await self._model.verdict(evidence, points, kept)
        add_details(
            key_points="\n".join(f"{number}. {point}" for number, point in enumerate(points, 1)),
            image_judge_record=[{"Response": found.reason, "Score": found.score} for _, found in scores],
            score_threshold=self._threshold,
        )
        return Judgement(float(success), success)

    def why_undecidable(self, task: Task, others: Sequence[Task]) -> str:
        """The reason of `judge_coverage.py` why a task cannot be judged; empty: it can."""
        if self._has_model or not task.instruction:
            return ""
        points = clauses_of(task.instruction)
        return why_undecided([demanded(point) for point in points], points)
