"""What a stage of the flywheel trains on: a set, shuffled, with texts mixed in; the same again after a kill."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from tars_jax.data.datasets import read_dataset
from tars_jax.data.texts import sums
from tars_jax.pipelines.training_sets import draw
from tests.data.test_store import played

EPISODES = [played(number, True) for number in range(6)]
TEXTS = list(sums())[:2]


@pytest.mark.parametrize("by_grain", [False, True])
def test_a_set_is_shuffled_mixed_and_drawn_again_alike(by_grain: bool, tmp_path: Path) -> None:
    if by_grain:
        pytest.importorskip("grain", reason="the extra grain")
    records = tmp_path / "größe" / "sft.array_record" if by_grain else None

    def drawn(seed: int, weight: float = 0.25, count: int = 0) -> list[str]:
        return [each.id for each in draw("sft", EPISODES, TEXTS, weight, count=count, seed=seed, records=records)]

    found = drawn(3)
    assert len(found) == 8  # six are three quarters of it
    counts = collections.Counter(found)
    assert {counts[each.id] for each in EPISODES} == {1} and sum(counts[each.id] for each in TEXTS) == 2
    assert [id for id in found if id.startswith("played")] != [each.id for each in EPISODES]
    assert drawn(3) == found != drawn(4)  # from the file that is there already
    assert sorted(drawn(3, 0.0)) == [each.id for each in EPISODES] and len(drawn(3, count=20)) == 20
    assert draw("sft", [], TEXTS, 0.5, count=5, seed=0, records=records) == []
    if records is not None:
        assert [each.id for each in read_dataset(str(records))] == [each.id for each in EPISODES]
