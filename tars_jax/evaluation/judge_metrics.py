"""How good a judge is: its verdicts beside the verifier's (the report's F1 of 83.8 for UI-TARS-2 as an ORM)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from tars_jax.evaluation.statistics import wilson_interval


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

    def to_json(self) -> dict[str, Any]:
        """The counts, and accuracy with its 95% interval, precision, recall, F1, the share that was solved, and the
        accuracy of always saying the commoner verdict. A ratio without cases is 0. An unreadable verdict is wrong,
        and finds no success."""
        solved = self.true_positives + self.false_negatives + self.unreadable_solved
        said = self.true_positives + self.false_positives
        base_rate = _ratio(solved, self.total)
        return {
            **dataclasses.asdict(self),
            "accuracy": _ratio(self.right, self.total),
            "accuracy_interval": wilson_interval(self.right, self.total),
            "precision": _ratio(self.true_positives, said),
            "recall": _ratio(self.true_positives, solved),
            "f1": _ratio(2 * self.true_positives, solved + said),
            "base_rate": base_rate,
            "majority_accuracy": max(base_rate, 1 - base_rate),
        }


def confusion(verdicts: Iterable[tuple[bool | None, bool]]) -> Confusion:
    """Of pairs (the judge's verdict, None where it has none; the verifier's)."""
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


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
