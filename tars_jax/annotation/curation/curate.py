"""Recorded trajectories become a data set, in this order; what is left out is left out with its reason.

1. executed again, where a sandbox is known: those that do not reach their end are left out (`executability.py`);
2. reviewed: what two reviewers, or who adjudicates, reject is left out, and what is still open (`reviews.py`);
3. compared: near-duplicates of one that is kept are left out (`near_duplicates.py`);
4. thoughts refined (`thoughts.py`), and instructions said in other words, too (`augmentation.py`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.annotation.curation.augmentation import AUGMENTED, Paraphraser, augment
from tars_jax.annotation.curation.config import CurationConfig
from tars_jax.annotation.curation.executability import ReplayedExecution
from tars_jax.annotation.curation.near_duplicates import Work, near_duplicates
from tars_jax.annotation.curation.reviews import Agreement, Review, ReviewDecision, agreements, decisions
from tars_jax.annotation.curation.statistics import DatasetStatistics, application_of, instruction_in, statistics_of
from tars_jax.annotation.curation.thoughts import Refiner, refine_thoughts
from tars_jax.trajectory import Trajectory

DUPLICATE, REJECTED, TWICE = "a near-duplicate", "reviewers reject it", "another one has its id"


@dataclasses.dataclass(frozen=True)
class Curated:
    trajectories: tuple[Trajectory, ...]  # with those that were augmented behind their own
    read: int
    left_out: Mapping[str, str]  # reason by id
    executions: Mapping[str, ReplayedExecution]
    agreements: tuple[Agreement, ...]
    decisions: Mapping[str, int]  # trajectories by what came of their reviews
    thoughts: Mapping[str, int]  # by what became of them
    variants: Mapping[str, int]
    statistics: DatasetStatistics  # of what is kept, without those that were augmented

    @property
    def kept(self) -> tuple[Trajectory, ...]:
        """Without those that say the instruction in other words."""
        return tuple(each for each in self.trajectories if AUGMENTED not in each.metadata)

    @property
    def reasons(self) -> dict[str, int]:
        return dict(Counter(self.left_out.values()).most_common())

    def to_json(self) -> dict[str, Any]:
        return {
            "read": self.read,
            "kept": len(self.kept),
            "written": len(self.trajectories),
            "left_out": self.reasons,
            "executions": dict(Counter(each.reason.value for each in self.executions.values())),
            "kappa": [dataclasses.asdict(each) for each in self.agreements],
            "decisions": dict(self.decisions),
            "thoughts": dict(self.thoughts),
            "variants": dict(self.variants),
            "statistics": self.statistics.to_json(),
        }


def curate(
    trajectories: Sequence[Trajectory],
    config: CurationConfig,
    *,
    executions: Mapping[str, ReplayedExecution] | None = None,
    reviews: Sequence[Review] = (),
    refiner: Refiner | None = None,
    paraphraser: Paraphraser | None = None,
) -> Curated:
    """`executions`: of those that were carried out again, by id."""
    executions = executions or {}
    left_out: dict[str, str] = {}
    kept: dict[str, Trajectory] = {}
    for number, each in enumerate(trajectories):
        if each.id in kept:
            left_out[f"{each.id} ({number})"] = TWICE
        else:
            kept[each.id] = each
    decided = decisions(reviews, kept)
    for id in kept:
        if reason := _reason(executions.get(id), decided[id], config.reviews_needed):
            left_out[id] = reason
    rest = [each for id, each in kept.items() if id not in left_out]
    works = [Work.of(each, application_of(each), instruction_in(each)) for each in rest]
    duplicates = near_duplicates(works, config.similar)
    left_out |= {rest[place].id: DUPLICATE for place in duplicates}
    thoughts, variants = Counter[str](), Counter[str]()
    found: list[Trajectory] = []
    for place, each in enumerate(rest):
        if place in duplicates:
            continue
        done = each if refiner is None else refine_thoughts(each, refiner, thoughts)
        found.append(done)
        if paraphraser is not None:
            told = instruction_in(done)
            found += augment(done, told, paraphraser, config.variants, config.seed, variants)
    reviewed = Counter(decision.value for decision in decided.values()) if reviews else Counter[str]()
    return Curated(
        trajectories=tuple(found),
        read=len(trajectories),
        left_out=left_out,
        executions=executions,
        agreements=agreements(reviews),
        decisions=reviewed,
        thoughts=thoughts,
        variants=variants,
        statistics=statistics_of([each for each in found if AUGMENTED not in each.metadata]),
    )


def _reason(execution: ReplayedExecution | None, decision: ReviewDecision, reviews_needed: bool) -> str:
    """The reason why a trajectory is left out; empty: it is kept."""
    if execution is not None and execution.says is False:
        return f"executed again: {execution.reason.value}"
    if decision is ReviewDecision.REJECT:
        return REJECTED
    if decision is ReviewDecision.OPEN or (reviews_needed and decision is not ReviewDecision.KEEP):
        return decision.value
    return ""


def needs_execution(trajectory: Trajectory, environments: Sequence[str]) -> bool:
    """Whether it is of one of these environments; of any that is known where there are none."""
    name = str(trajectory.task.get("environment", ""))
    return name in environments if environments else name not in ("", "recorded")
