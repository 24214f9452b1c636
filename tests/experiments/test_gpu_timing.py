"""How often a program is run before its time is believed."""

import numpy as np
import pytest

from experiments.gpu import timing
from experiments.gpu.timing import Patience, measure


@pytest.mark.parametrize(
    ("seconds", "repeats", "runs"),
    [
        (2**-7, 4, 2 + 4 * 2),  # short: two in a row make nearly 20 ms
        (1.0, 4, 2 + 4),
        (10.0, 9, 2 + 3),  # 15 s are over after two repetitions, and three are made
    ],
)
def test_repetitions(monkeypatch: pytest.MonkeyPatch, seconds: float, repeats: int, runs: int) -> None:
    clock, count = 0.0, 0

    def run() -> np.ndarray:
        nonlocal clock, count
        clock, count = clock + seconds * (3 if count == 0 else 1), count + 1  # the first run is slower
        return np.zeros(1)

    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock)
    found = measure(run, Patience(warmups=2, repeats=repeats, seconds=15.0))
    assert count == runs
    assert (found.low, found.median, found.high) == pytest.approx((seconds,) * 3)
