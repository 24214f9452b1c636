"""Which row of a batch has which slot."""

import pytest

from tars_jax.inference.batching import rows_for

SLOTS = 4


@pytest.mark.parametrize(
    ("slots", "rows"),
    [
        ([], [SLOTS]),
        ([3], [3]),
        ([3, 0], [3, 0]),
        ([2, 0, 1], [0, 1, 2, SLOTS]),  # no bucket holds three: each slot has its own row
        ([3, 2, 1, 0], [0, 1, 2, 3]),
    ],
)
def test_slots_have_rows_of_a_bucket_or_each_its_own(slots: list[int], rows: list[int]) -> None:
    assert rows_for(slots, (1, 2), SLOTS).tolist() == rows


def test_nobody_has_a_row_of_all() -> None:
    assert rows_for((), (SLOTS,), SLOTS).tolist() == [SLOTS] * SLOTS
    assert rows_for((2,), (3,), SLOTS).tolist() == [2, SLOTS, SLOTS]
