"""T10: of the games that are trained, some reach the reference player, some climb from nothing, some plateau.

Each is said of the best case among four games, for each seed alone; where no game qualifies, the effect is 0. The
reference player is the one that demonstrations are made with, here without its mistakes.

Axes: N seeds, U updates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, early, late

GAMES = ("checklist", "maze", "game_2048", "snake")
EPISODES = 512  # of the reference player
NOTHING = 0.15  # of the reference's success: a game whose first update finds less is said to begin at nothing
AGAINST = 0.95  # of the reference's success: what reaches it; what ends below may have a plateau
TESTS = (
    Test("late success over the reference player's, the nearest game's", above=AGAINST),
    Test("rise of success over the reference player's, of a game that begins below .15 of it", above=0.25),
    Test(
        "rise of the same in the second third minus twice that in the last, of a game that ends below .95", above=0.02
    ),
)


def effects(shares: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the tests are put to, [N] each; `shares` are games' success over their reference player's, [N, U]."""
    found = np.stack(list(shares.values()))
    begins, ends = np.stack([early(one) for one in found]), np.stack([late(one) for one in found])
    thirds = np.stack([third.mean(-1) for third in np.array_split(found, 3, axis=-1)])
    first, second = np.diff(thirds, axis=0)
    return (
        ends.max(0),
        np.where(found[..., 0] < NOTHING, ends - begins, 0.0).max(0),
        np.where(ends < AGAINST, first - 2 * second, 0.0).max(0),
    )


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({game: bench.tuned(game) for game in GAMES})
    reference = {game: bench.setup(game).reference(EPISODES) for game in GAMES}
    shares = {game: curves[game]["success"] / reference[game] for game in GAMES}
    shown = {game: {"share": share} for game, share in shares.items()}
    return Measured(judged(TESTS, effects(shares)), shown, chosen, {"reference success": reference})


TREND = Trend(
    "T10",
    "Some games reach the reference player, some climb from nothing, some plateau",
    "UI-TARS-2, training dynamics of games",
    TESTS,
    measure,
    ("share",),
)
