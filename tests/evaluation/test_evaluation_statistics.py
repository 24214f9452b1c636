"""Intervals against published and hand-derived values; the report's table 2 from its own rows."""

from __future__ import annotations

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.evaluation.scoring import normalize
from tars_jax.evaluation.statistics import (
    bootstrap_difference,
    success_difference,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 1 - 0.1611, 1.0),
    ],
)
def test_wilson_interval(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=1e-4)


def test_nothing_is_known_without_episodes() -> None:
    assert wilson_interval(0, 0) == (0, 1)


@pytest.mark.parametrize(
    ("after", "before", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),  # Newcombe 1998, table II, method 10
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_success_difference(after: tuple[int, int], before: tuple[int, int], low: float, high: float) -> None:
    got = success_difference(before, after)
    assert got.value == pytest.approx(after[0] / after[1] - before[0] / before[1])
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-4)


def test_counts_that_cannot_be_are_refused() -> None:
    for successes in (-1, 4):
        with pytest.raises(InputError, match=f"successes must be 0 to 3.*; got {successes}"):
            wilson_interval(successes, 3)
    with pytest.raises(InputError, match="must have episodes on both sides; got 0 and 2"):
        success_difference((0, 0), (1, 2))
    with pytest.raises(InputError, match="must have scores on both sides; got 0 and 1"):
        bootstrap_difference([], [1.0])
    with pytest.raises(InputError, match="must have equally many scores on both sides; got 1 and 3"):
        bootstrap_difference([1.0], [1.0, 2.0, 3.0], paired=True)


def test_bootstrap_difference_matches_the_normal_interval() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.normal(0, 1, 400), rng.normal(0.5, 1, 400)
    got = bootstrap_difference(before.tolist(), after.tolist())
    half = 1.96 * np.sqrt(before.var(ddof=1) / 400 + after.var(ddof=1) / 400)
    assert got.value == pytest.approx(after.mean() - before.mean())
    assert (got.low, got.high) == pytest.approx((got.value - half, got.value + half), abs=0.015)
    assert got == bootstrap_difference(before.tolist(), after.tolist())


def test_pairing_removes_the_levels_own_variance() -> None:
    levels = np.random.default_rng(2).normal(0, 10, 50)
    got = bootstrap_difference(levels.tolist(), (levels + 1).tolist(), paired=True)
    assert got == pytest.approx((1, 1, 1))


# UI-TARS-2, table 2: human, SFT, RL, OpenAI CUA, Claude Computer Use.
TABLE_2 = {
    "2048": (1024.31, 968.00, 932.40, 911.21, 800.00),
    "Emoji-sort-master": (5.15, 2.90, 4.50, 1.80, 1.40),
    "Energy": (10.08, 2.40, 3.30, 0.82, 1.04),
    "Free-the-key": (5.54, 0.00, 0.70, 0.00, 0.00),
    "Gem-11": (186.85, 84.90, 63.90, 47.00, 55.00),
    "Hex-frvr": (5276.85, 1952.00, 2389.00, 615.59, 523.07),
    "Infinity-Loop": (6.58, 1.60, 6.10, 3.30, 1.90),
    "Laser-maze-puzzle": (17.83, 2.70, 5.60, 1.40, 1.40),
    "Maze:Path-of-Light": (7.17, 1.10, 2.00, 0.35, 0.82),
    "Merge-and-double": (790.31, 519.00, 594.40, 102.33, 212.70),
    "Shapes": (5.42, 4.60, 5.90, 0.90, 0.24),
    "Snake-solver": (3.92, 2.10, 3.00, 0.23, 0.20),
    "Tiles-master": (3.75, 3.20, 3.10, 1.47, 1.56),
    "Wood-blocks-3d": (4646.00, 1900.00, 2908.00, 1814.00, 1632.00),
    "Yarn-untangle": (19.75, 4.30, 7.00, 5.05, 1.56),
}


@pytest.mark.parametrize(("column", "mean"), [(0, 100), (1, 44.2644), (2, 59.7705), (3, 24.7323), (4, 21.6123)])
def test_the_normalized_mean_over_games(column: int, mean: float) -> None:
    human = {game: row[:1] for game, row in TABLE_2.items()}
    _, over_games = normalize({game: [row[column]] for game, row in TABLE_2.items()}, human)
    assert over_games == pytest.approx((mean, mean, mean), abs=1e-4)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence must be"):
        wilson_interval(1, 2, confidence)
    with pytest.raises(InputError, match="confidence must be"):
        bootstrap_difference([0.0], [1.0], confidence=confidence)


def test_a_bootstrap_takes_resamples() -> None:
    with pytest.raises(InputError, match="resamples must be at least 1; got 0"):
        bootstrap_difference([0.0], [1.0], resamples=0)
