"""A judge's verdicts, counted."""

import pytest

from tars_jax.evaluation.judge_metrics import Confusion, confusion


def test_counts_and_ratios_by_hand() -> None:
    """Said 1: 4, of which 3 right; solved: 5, of which 3 found; 4 of 8 right, 2 unreadable. F1 = 2 * 3 / (4 + 5)."""
    pairs = [(True, True)] * 3 + [(True, False)] + [(False, True), (None, True)] + [(False, False), (None, False)]
    found = confusion(pairs)
    assert found == Confusion(3, 1, 1, 1, unreadable=2) and (found.total, found.right) == (8, 4)
    assert found.unreadable_solved == 1
    said = found.to_json()
    assert (said["accuracy"], said["precision"], said["recall"]) == (4 / 8, 3 / 4, 3 / 5)
    assert said["f1"] == pytest.approx(6 / 9) and said["base_rate"] == said["majority_accuracy"] == 5 / 8
    assert said["accuracy_interval"][0] < 4 / 8 < said["accuracy_interval"][1]


def test_nothing_that_can_be_read_is_neither_right_nor_failed() -> None:
    said = confusion([(None, True)] * 448 + [(None, False)] * 152).to_json()
    assert (said["unreadable"], said["accuracy"], said["recall"], said["f1"]) == (600, 0, 0, 0)
    assert said["true_negatives"] == said["false_negatives"] == 0 and said["base_rate"] == 448 / 600


def test_without_cases_ratios_are_zero() -> None:
    said = confusion([(False, False)]).to_json()
    assert (said["accuracy"], said["precision"], said["recall"], said["f1"]) == (1, 0, 0, 0)
    assert said["majority_accuracy"] == 1
    assert confusion([]).to_json()["accuracy"] == 0
