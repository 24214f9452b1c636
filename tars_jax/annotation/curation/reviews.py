"""Two people look at each trajectory: what they said, how well they agree, and what comes of it.

A line of reviews.jsonl is one person's verdict on one trajectory:

    {"trajectory": "a1", "reviewer": "mara", "verdict": "keep", "note": ""}
    {"trajectory": "a1", "reviewer": "yusuf", "verdict": "reject", "note": "step 3 clicks beside the button"}
    {"trajectory": "a1", "reviewer": "lee", "verdict": "keep", "adjudicates": true}

Where the two agree, that counts. Where they do not, a third person, who adjudicates, decides; until then it is open.
Who adjudicates what two people have not reviewed decides nothing.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded_lines


@dataclasses.dataclass(frozen=True, kw_only=True)
class Review:
    trajectory: str
    reviewer: Annotated[str, Meta(pattern=r"\S", description="a name")]
    verdict: Literal["keep", "reject"]
    note: str = ""
    adjudicates: bool = False


class ReviewDecision(enum.Enum):
    KEEP = "keep"
    REJECT = "reject"
    OPEN = "reviewers disagree, and nobody has decided"
    ONE_REVIEW = "one person alone has reviewed it"
    NO_REVIEW = "nobody has reviewed it"


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Agreement of two reviewers over what both have seen. `kappa` is None where chance alone would agree on
    everything."""

    reviewers: tuple[str, str]
    count: int
    observed: float  # share on which they agree
    kappa: float | None


def read_reviews(file: Path) -> tuple[Review, ...]:
    """Raises InputError that names the file, the line and the field."""
    found: dict[tuple[str, str, bool], Review] = {}
    by_trajectory = collections.defaultdict[str, list[Review]](list)
    for where, review in decoded_lines(file, Review, "a review"):
        key = (review.trajectory, "" if review.adjudicates else review.reviewer, review.adjudicates)
        if key in found:
            who = "is adjudicated" if review.adjudicates else f"is reviewed by {review.reviewer!r:.60}"
            raise InputError(f"{where}: trajectory {review.trajectory!r:.60} {who} a second time")
        found[key] = review
        if (review.trajectory, review.reviewer, not review.adjudicates) in {
            (each.trajectory, each.reviewer, each.adjudicates) for each in by_trajectory[review.trajectory]
        }:
            raise InputError(
                f"{where}: reviewer must be another than who has reviewed {review.trajectory!r:.60}; got "
                f"{review.reviewer!r:.60}"
            )
        by_trajectory[review.trajectory].append(review)
    return tuple(found.values())


def cohens_kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    r"""Agreement of two raters beyond chance; None where both always say one and the same (0 / 0).

    \[ \kappa = \frac{p_o - p_e}{1 - p_e},\quad p_e = \sum_c p_{1c}\, p_{2c} \]

    Source: Cohen (1960), "A coefficient of agreement for nominal scales". The sequences have equal length, not 0.
    """
    count = len(first)
    observed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    of_first, of_second = collections.Counter(first), collections.Counter(second)
    by_chance = sum(of_first[label] * of_second[label] for label in of_first) / count**2
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def agreements(reviews: Iterable[Review]) -> tuple[Agreement, ...]:
    """Agreement of each pair of reviewers that has trajectories in common, adjudicators left out; most in common
    first."""
    said = collections.defaultdict[str, dict[str, str]](dict)
    for review in reviews:
        if not review.adjudicates:
            said[review.reviewer][review.trajectory] = review.verdict
    names = sorted(said)
    found = []
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if both := sorted(said[one].keys() & said[other].keys()):
                first, second = ([said[who][each] for each in both] for who in (one, other))
                observed = sum(a == b for a, b in zip(first, second, strict=True)) / len(both)
                found.append(Agreement((one, other), len(both), observed, cohens_kappa(first, second)))
    return tuple(sorted(found, key=lambda each: (-each.count, each.reviewers)))


def decisions(reviews: Iterable[Review], ids: Iterable[str]) -> Mapping[str, ReviewDecision]:
    """Decision on each trajectory, from its reviews."""
    verdicts = collections.defaultdict[str, list[str]](list)
    final: dict[str, str] = {}
    for review in reviews:
        if review.adjudicates:
            final[review.trajectory] = review.verdict
        else:
            verdicts[review.trajectory].append(review.verdict)
    return {id: _decided(verdicts[id], final.get(id)) for id in ids}


def _decided(verdicts: Sequence[str], final: str | None) -> ReviewDecision:
    if len(verdicts) >= 2:
        agreed = verdicts[0] if len(set(verdicts)) == 1 else final
        return ReviewDecision.OPEN if agreed is None else ReviewDecision(agreed)
    return ReviewDecision.ONE_REVIEW if verdicts else ReviewDecision.NO_REVIEW
