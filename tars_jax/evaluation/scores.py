"""Scores of the same held-out levels before and after: the one comparison that every verdict and table is of.

Success is compared, and where rewards are dense, so that returns tell more than success does, mean returns.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tars_jax.evaluation.scoring import estimate_mean
from tars_jax.evaluation.statistics import Estimate, bootstrap_difference, success_difference, wilson_interval
from tars_jax.trajectory import Trajectory

SUCCESS, RETURN = "success", "return"  # measures
_SAID = {"better": "improved", "worse": "got worse", "solved": "already solved", "unclear": "no change shown"}
_FEWEST = 2  # returns of each side, below which there is no interval


@dataclasses.dataclass(frozen=True)
class Score:
    """A score: one measure of the episodes before and after, with 95% intervals; both sides hold episodes."""

    name: str
    before: Estimate
    after: Estimate
    change: Estimate  # after minus before
    episodes: tuple[int, int]  # of each side
    measure: str = SUCCESS

    @classmethod
    def of_successes(cls, name: str, before: tuple[int, int], after: tuple[int, int]) -> Self:
        """The score of success, from (successes, episodes) of each side. Raises InputError where one holds none."""
        change = success_difference(before, after)
        return cls(name, _rate(*before), _rate(*after), change, (before[1], after[1]))

    @classmethod
    def of_returns(cls, name: str, before: Sequence[float], after: Sequence[float]) -> Self:
        """The score of mean return, from the return of each episode. Raises InputError where a side holds none."""
        change = bootstrap_difference(before, after)
        return cls(name, estimate_mean(before), estimate_mean(after), change, (len(before), len(after)), RETURN)

    @classmethod
    def of_episodes(cls, name: str, before: Sequence[Trajectory], after: Sequence[Trajectory]) -> Self:
        """The score of episodes, by success or, where rewards are dense, by return. Raises InputError where a side
        holds none."""
        if are_dense([*before, *after]):
            return cls.of_returns(name, [each.reward for each in before], [each.reward for each in after])
        return cls.of_successes(name, _successes(before), _successes(after))

    @classmethod
    def of_result(cls, result: Mapping[str, Any]) -> Self:
        """Reads the score of a result.json: its `score`, or the success rates of one from before there was any."""
        if score := result.get("score"):
            start, end, change = (Estimate(**score[side]) for side in ("before", "after", "difference"))
            return cls("", start, end, change, tuple(score["episodes"]), score["measure"])
        n = int(result["episodes"])
        before, after = (round(result[name] * n) for name in ("score_before", "score_after"))
        return cls.of_successes("", (before, n), (after, n))

    def to_json(self) -> dict[str, Any]:
        """The score as `of_result` reads it back."""
        sides = {"before": self.before, "after": self.after, "difference": self.change}
        named = {name: estimate._asdict() for name, estimate in sides.items()}
        return {"measure": self.measure, **named, "episodes": list(self.episodes)}

    @property
    def kind(self) -> str:
        """ "better" or "worse" only where the interval of the change leaves out 0, "solved" where all was solved
        before, so that nothing could be better; else "unclear"."""
        if self.measure == RETURN and min(self.episodes) < _FEWEST:
            return "unclear"
        if self.change.low > 0 or self.change.high < 0:
            return "better" if self.change.low > 0 else "worse"
        return "solved" if self.measure == SUCCESS and self.before.value == 1 else "unclear"

    @property
    def unit(self) -> str:
        """Unit of the change, as it is written."""
        return "" if self.measure == RETURN else " points"

    def value(self, number: float) -> str:
        """A number of this measure, as it is written."""
        return f"{number:.3g}".replace("-", "−") if self.measure == RETURN else percent(number)

    def difference(self, number: float) -> str:
        """A difference of two numbers of this measure, as it is written."""
        return f"{number:+.3g}".replace("-", "−") if self.measure == RETURN else points(number)

    def line(self) -> str:
        """The score as a line for a terminal."""
        before, after, value, interval = self._shown()
        return f"{self.name:24} {before:>7} {after:>7}  {value}{self.unit} [{interval}], {_SAID[self.kind]}"

    def row(self) -> str:
        """The score as a row of an HTML table."""
        before, after, value, interval = self._shown()
        return (
            f'<tr class="{self.kind}"><th>{html.escape(self.name)}</th><td>{self.episodes[0]}</td><td>{before}</td>'
            f"<td>{after}</td><td>{value} <span>{interval}</span></td><td>{_SAID[self.kind]}</td></tr>"
        )

    def _shown(self) -> tuple[str, str, str, str]:
        value, low, high = map(self.difference, self.change)
        return self.value(self.before.value), self.value(self.after.value), value, f"{low} to {high}"


def are_dense(episodes: Sequence[Trajectory]) -> bool:
    """Whether returns tell more than success does: nobody says what success is, or an episode earns before its end
    what its success does not tell."""
    if all(episode.success is None for episode in episodes):
        return True
    return any(
        episode.reward != float(episode.succeeded) and any(step.reward for step in episode.steps[:-1])
        for episode in episodes
    )


def summary(episodes: Sequence[Trajectory]) -> str:
    """Summary of episodes by their measure, in words."""
    n = len(episodes)
    if are_dense(episodes):
        mean = estimate_mean([episode.reward for episode in episodes])
        return f"mean return {mean.value:.3g} [{mean.low:.3g}, {mean.high:.3g}] of {n}"
    return f"{sum(episode.succeeded for episode in episodes) / n:.1%} of {n}"


def score_table_html(scores: Sequence[Score]) -> str:
    """The table as a section; nothing without scores."""
    if not scores:
        return ""
    unit = "points" if all(score.measure == SUCCESS for score in scores) else "change"
    names = ("", "episodes", "before", "after", f"{unit}, 95% interval", "")
    head = "".join(f"<td>{name}</td>" for name in names)
    rows = "".join(score.row() for score in scores)
    return f'<section class="parts"><h2>Each part</h2><table><tr class="head">{head}</tr>{rows}</table></section>'


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}%"


def points(fraction: float) -> str:
    return f"{100 * fraction:+.1f}".replace("-", "−")


def _successes(episodes: Sequence[Trajectory]) -> tuple[int, int]:
    return sum(episode.succeeded for episode in episodes), len(episodes)


def _rate(successes: int, episodes: int) -> Estimate:
    return Estimate(successes / episodes, *wilson_interval(successes, episodes))
