"""Metrics of a judge: its verdicts beside the verifier's (the report's F1 of 83.8 for UI-TARS-2 as an ORM)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tars_jax import InputError
from tars_jax.evaluation.statistics import Estimate, bootstrap, wilson_interval
from tars_jax.trajectory import Trajectory

Verdicts = Sequence[tuple[bool | None, bool]]  # (the judge's, None where it has none; the verifier's)


@dataclasses.dataclass(frozen=True)
class Confusion:
    """Counts of judged trajectories. What cannot be read as a verdict is neither right nor one of the four others."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    unreadable: int = 0
    unreadable_solved: int = dataclasses.field(default=0, compare=False)  # among the unreadable

    @property
    def total(self) -> int:
        read = self.true_positives + self.false_positives + self.false_negatives + self.true_negatives
        return read + self.unreadable

    @property
    def right(self) -> int:
        return self.true_positives + self.true_negatives

    @property
    def solved(self) -> int:
        return self.true_positives + self.false_negatives + self.unreadable_solved

    def verdicts(self) -> Verdicts:
        """The counted pairs of verdicts, in some order."""
        counts = {
            (True, True): self.true_positives,
            (True, False): self.false_positives,
            (False, True): self.false_negatives,
            (False, False): self.true_negatives,
            (None, True): self.unreadable_solved,
            (None, False): self.unreadable - self.unreadable_solved,
        }
        return [pair for pair, count in counts.items() for _ in range(count)]

    def to_json(self) -> dict[str, Any]:
        """The counts; accuracy, precision, recall and the false positive rate (the share of failures that count as
        success) with their 95% intervals; F1, the share that was solved, and the accuracy of always saying the commoner
        verdict. A ratio without cases is 0. An unreadable verdict is wrong, and finds no success."""
        said = self.true_positives + self.false_positives
        base_rate = _ratio(self.solved, self.total)
        shares = {
            "accuracy": (self.right, self.total),
            "precision": (self.true_positives, said),
            "recall": (self.true_positives, self.solved),
            "false_positive_rate": (self.false_positives, self.total - self.solved),
        }
        return {
            **dataclasses.asdict(self),
            **{name: _ratio(*counts) for name, counts in shares.items()},
            **{f"{name}_interval": wilson_interval(*counts) for name, counts in shares.items()},
            "f1": _ratio(2 * self.true_positives, self.solved + said),
            "base_rate": base_rate,
            "majority_accuracy": max(base_rate, 1 - base_rate),
        }


def confusion(verdicts: Iterable[tuple[bool | None, bool]]) -> Confusion:
    """Confusion matrix of pairs (the judge's verdict, None where it has none; the verifier's)."""
    pairs = list(verdicts)

    def count(said: bool, solved: bool) -> int:
        return sum(verdict is said and truth == solved for verdict, truth in pairs)

    unreadable = [truth for verdict, truth in pairs if verdict is None]
    return Confusion(
        count(True, True),
        count(True, False),
        count(False, True),
        count(False, False),
        len(unreadable),
        sum(unreadable),
    )


def f1_estimate(verdicts: Verdicts, seed: int = 0) -> Estimate:
    """F1 with its 95% interval, by a bootstrap over trajectories; without any, 0 from 0 to 1."""
    if not verdicts:
        return Estimate(0.0, 0.0, 1.0)
    said, solved = (np.array([bool(pair[side]) for pair in verdicts], float) for side in (0, 1))

    def f1(said: np.ndarray, solved: np.ndarray, axis: int) -> np.ndarray:
        marked = said.sum(axis) + solved.sum(axis)
        ratio: np.ndarray = 2 * (said * solved).sum(axis) / np.maximum(marked, 1)
        return ratio

    return bootstrap(f1, said, solved, paired=True, seed=seed).estimate


class Calibrated(NamedTuple):
    """A threshold that was chosen on one half of the trajectories, and what it does on the other."""

    threshold: float  # success is a score of at least this
    chosen_on: Confusion
    reported_on: Confusion


def calibrated(
    scores: Sequence[float | None], solved: Sequence[bool], *, most_false_positives: float = 1.0, seed: int = 0
) -> Calibrated:
    """The threshold of the best F1 whose false positive rate is at most `most_false_positives`; of equal ones, the
    highest. Halves are drawn by `seed`; no trajectory is in both. One without a score (None) is unreadable, at any
    threshold.

    Raises InputError for fewer than two trajectories, and for scores that are not as many or are not finite.
    """
    values = np.array([np.nan if score is None else score for score in scores], float)
    truth, read = np.asarray(solved, bool), np.array([score is not None for score in scores], bool)
    if values.shape != truth.shape or values.ndim != 1 or len(values) < 2:
        raise InputError(f"scores must be as many as verdicts, two or more; got {values.shape} and {truth.shape}")
    if not np.isfinite(values[read]).all():
        raise InputError(f"scores must be finite; got {values[read & ~np.isfinite(values)][0]}")
    order = np.random.default_rng(seed).permutation(len(values))
    halves = [
        ([scores[place] for place in half], truth[half].tolist())
        for half in (order[: len(order) // 2], order[len(order) // 2 :])
    ]
    threshold = best_threshold(*halves[0], most_false_positives)
    return Calibrated(threshold, *(at_threshold(*half, threshold) for half in halves))


def best_threshold(scores: Sequence[float | None], solved: Sequence[bool], most_false_positives: float = 1.0) -> float:
    """The score from which on success has the best F1 with so many false positives at most; infinite where none has."""
    best, best_f1 = math.inf, -1.0
    for threshold in sorted({score for score in scores if score is not None}, reverse=True):
        found = at_threshold(scores, solved, threshold).to_json()
        if found["f1"] > best_f1 and found["false_positive_rate"] <= most_false_positives:
            best, best_f1 = float(threshold), found["f1"]
    return best


def at_threshold(scores: Sequence[float | None], solved: Sequence[bool], threshold: float) -> Confusion:
    """Confusion matrix where success is a score of at least `threshold`; without a score there is no verdict."""
    said = (None if score is None else bool(score >= threshold) for score in scores)
    return confusion(zip(said, solved, strict=True))


def by_length(steps: int, bounds: Sequence[int] = (5, 10, 20)) -> str:
    """The name of a trajectory's length among `bounds`: "1-5", "6-10", "11-20", "over 20"."""
    low = 1
    for bound in bounds:
        if steps <= bound:
            return f"{low}-{bound}"
        low = bound + 1
    return f"over {bounds[-1]}"


def in_groups(verdicts: Iterable[tuple[bool | None, bool, str]]) -> dict[str, Confusion]:
    """Confusion matrices of triples (the judge's verdict, the verifier's, a group such as the site), in the order of
    names."""
    groups: dict[str, list[tuple[bool | None, bool]]] = {}
    for said, truth, name in verdicts:
        groups.setdefault(name, []).append((said, truth))
    return {name: confusion(groups[name]) for name in sorted(groups)}


def hidden_verdicts(trajectories: Iterable[Trajectory]) -> Confusion | None:
    """A run's judge beside the environments' own verdicts, which it replaced and nothing learned from; None where
    nobody judged, or the environment says nothing."""
    own = "environment_success"
    pairs = [(each.success, each.metadata[own]) for each in trajectories if each.metadata.get(own) is not None]
    return confusion(pairs) if pairs else None


def hidden_metrics(trajectories: Iterable[Trajectory]) -> Mapping[str, float]:
    """Metrics of `hidden_verdicts`, to stand beside an update's metrics."""
    found = hidden_verdicts(trajectories)
    if found is None:
        return {}
    shares = found.to_json()
    return {
        "true_success": shares["base_rate"],
        "judge_accuracy": shares["accuracy"],
        "judge_f1": shares["f1"],
        "judge_false_positive_rate": shares["false_positive_rate"],
    }


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
