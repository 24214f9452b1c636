"""Scores of the parts of a result, such as its games: a line each for a terminal, a table for the report."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence

from tars_jax.evaluation.statistics import Estimate, success_difference

_SAID = {"better": "improved", "worse": "got worse", "unclear": "no change shown"}


@dataclasses.dataclass(frozen=True)
class Score:
    """(successes, episodes) before and after, on the same held-out levels; both hold episodes."""

    name: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def change(self) -> Estimate:
        """After minus before, with its 95% interval."""
        return success_difference(self.before, self.after)

    @property
    def kind(self) -> str:
        """ "better" or "worse" only where the interval of the change leaves out 0, else "unclear"."""
        return "better" if self.change.low > 0 else "worse" if self.change.high < 0 else "unclear"

    def line(self) -> str:
        """For a terminal."""
        before, after, value, interval = self._shown()
        return f"{self.name:24} {before:>7} {after:>7}  {value} points [{interval}], {_SAID[self.kind]}"

    def row(self) -> str:
        """Of an HTML table."""
        before, after, value, interval = self._shown()
        return (
            f'<tr class="{self.kind}"><th>{html.escape(self.name)}</th><td>{self.before[1]}</td><td>{before}</td>'
            f"<td>{after}</td><td>{value} <span>{interval}</span></td><td>{_SAID[self.kind]}</td></tr>"
        )

    def _shown(self) -> tuple[str, str, str, str]:
        before, after = (percent(successes / episodes) for successes, episodes in (self.before, self.after))
        value, low, high = map(points, self.change)
        return before, after, value, f"{low} to {high}"


def scores_html(scores: Sequence[Score]) -> str:
    """The table as a section; nothing without scores."""
    if not scores:
        return ""
    names = ("", "episodes", "before", "after", "points, 95% interval", "")
    head = "".join(f"<td>{name}</td>" for name in names)
    rows = "".join(score.row() for score in scores)
    return f'<section class="parts"><h2>Each part</h2><table><tr class="head">{head}</tr>{rows}</table></section>'


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}%"


def points(fraction: float) -> str:
    return f"{100 * fraction:+.1f}".replace("-", "−")
