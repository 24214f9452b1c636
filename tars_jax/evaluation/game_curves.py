"""Each game over training, with the lines of scripted players, as in figure 13 of the UI-TARS-2 report."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.evaluation.curves import Curve, Series

SECTION = "Each game while PPO trains"
_BOUNDS = (("person", "a person's pace and errors"), ("reference", "the best scripted player"))


def game_curves(games: Sequence[tuple[str, str]]) -> list[Curve]:
    """Of each (name, title): the share of episodes that were solved, and of episodes of several levels the mean score,
    where a run has them."""
    return [
        curve
        for name, title in games
        for curve in (
            Curve(
                SECTION,
                title,
                (Series("ppo", f"{name}_success"),),
                "solved, of the game's episodes in a batch",
                percent=True,
            ),
            Curve(
                SECTION,
                f"{title}, score",
                (Series("ppo", f"{name}_score"),),
                "mean of the game's episodes in a batch",
                bounds=tuple((f"{side}/{name}_score", label) for side, label in _BOUNDS),
            ),
        )
    ]
