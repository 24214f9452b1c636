"""Tables of an evaluation in Markdown, as the UI-TARS-2 report prints them; published figures are marked as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.evaluation import published
from tars_jax.evaluation.statistics import Estimate, wilson_interval


def games_table(
    raw: Mapping[str, tuple[str, Estimate]],
    scales: Mapping[str, Mapping[str, Estimate]],
    normal: Mapping[str, tuple[Mapping[str, Estimate], Estimate | None]],
) -> str:
    """Table of each game's unit and raw score; for each side of `scales` its own score and ours with that as 100, with
    the uncapped mean over the games.

    A game that is not in `normal` has no scale.
    The columns to the right are the report's (table 2), normalized to its human player on its own games.
    """
    paper = published.GAMES15_AGENTS[1:]
    of_sides = [words for side in scales for words in (side, f"{side} = 100")]
    head = ("Game", "counts", "score", *of_sides, *(f"{agent} (paper)" for agent in paper))
    rows = []
    for game, (counted, score) in raw.items():
        sides = [
            words
            for side, (by_game, _) in normal.items()
            for words in (f"{scales[side][game].value:.1f}", estimate_text(by_game[game]) if game in by_game else "-")
        ]
        rows.append((game, counted, estimate_text(score), *sides, *_published(game)))
    means = [words for _, mean in normal.values() for words in ("", estimate_text(mean) if mean else "-")]
    last = ("Mean, not capped", "", "", *means, *(f"{score:.1f}" for score in published.GAMES15_MEAN[1:]))
    return markdown(head, [*rows, last])


def _published(game: str) -> list[str]:
    """Published figures of a game of the report; a game of a user's own has none."""
    if game not in published.GAMES15:
        return ["-"] * (len(published.GAMES15_AGENTS) - 1)
    return [f"{score:.1f}" for score in published.normalized_to_human(game)[1:]]


def lmgame_table(
    reported: Mapping[str, Estimate],
    deviations: Mapping[str, float],
    raw: Mapping[str, Estimate],
    unplayed: Sequence[str] = (),
) -> str:
    """Scores as LMGame-Bench reports them, with the deviation over runs and with our intervals, the games' own counts,
    and the report's for UI-TARS-2 (table 3).

    The last column has a figure of what was not played, too.
    """
    head = ("Game", "score ± deviation", "score, 95% interval", "raw score", f"{published.LMGAME_AGENT} (paper)")
    rows = []
    for game in (*reported, *unplayed):
        ours = ("-", "-", "-")
        if game in reported:
            spread = f"{reported[game].value:.1f} ± {deviations[game]:.1f}"
            ours = (spread, estimate_text(reported[game]), estimate_text(raw[game]))
        score, deviation = published.LMGAME[game]
        rows.append((game, *ours, f"{score:g} ± {deviation:g}"))
    return markdown(head, rows)


def success_table(rewards: Mapping[str, Estimate], successes: Mapping[str, tuple[int, int]]) -> str:
    """Mean reward and success of each task, and over all tasks."""
    rows = [(name, estimate_text(rewards[name], 2), share(*successes[name])) for name in rewards]
    solved, played = (sum(counts) for counts in zip(*successes.values(), strict=True))
    mean = sum(each.value for each in rewards.values()) / len(rewards)
    return markdown(("Task", "reward", "success"), [*rows, ("All", f"{mean:.2f}", share(solved, played))])


def budget_table(curves: Mapping[str, Mapping[int, Estimate]]) -> str:
    """The score at each step budget, a column for each name: inference-time scaling (UI-TARS-2, figure 11)."""
    budgets = sorted({budget for curve in curves.values() for budget in curve})
    rows = [
        (str(budget), *(estimate_text(curve[budget]) if budget in curve else "-" for curve in curves.values()))
        for budget in budgets
    ]
    return markdown(("steps", *curves), rows)


def estimate_text(estimate: Estimate, digits: int = 1) -> str:
    value, low, high = (f"{number:.{digits}f}" for number in estimate)
    return f"{value} [{low}, {high}]"


def share(successes: int, episodes: int) -> str:
    low, high = wilson_interval(successes, episodes)
    return f"{successes / episodes:.1%} [{100 * low:.0f}, {100 * high:.0f}] of {episodes}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns line up: names to the left, figures to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cells[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)),
        ]
        return f"| {' | '.join(padded)} |"

    rule = [f":{'-' * (widths[0] - 1)}", *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return "\n".join([line(head), line(rule), *map(line, rows)])


def quantization_table(result: Mapping[str, Any]) -> str:
    """Table of an experiment's result: score, return, tokens a second, seconds a round, bytes; the report's figures
    beside them, which are of another policy on OSWorld and on another machine."""
    times = [result["time"][side] for side in ("float", "w4a8")]
    rows = [
        ("score, %", *(f"{100 * result[f'score_{side}']:.1f}" for side in ("float", "w4a8")), *_paper("score")),
        ("mean return", *(f"{result[f'return_{side}']:.3f}" for side in ("float", "w4a8")), "-", "-"),
        ("tokens/s", *(f"{each['tokens_per_second']:.1f}" for each in times), *_paper("tokens_per_second")),
        ("seconds a round", *(f"{each['seconds_per_round']:.3f}" for each in times), *_paper("seconds_per_round")),
        ("bytes", *(f"{result['bytes'][side]:,}" for side in ("float", "w4a8")), "-", "-"),
    ]
    about = (
        f"{result['suite']}, {result['episodes']} episodes of each side, {result['pages']} at a time, in turn on "
        f"{result['device']}.\n\n"
    )
    return about + markdown(("", "float", "W4A8", "float (paper)", "W4A8 (paper)"), rows)


def _paper(name: str) -> tuple[str, str]:
    plain, quantized = published.W4A8[name]
    return f"{plain:.1f}", f"{quantized:.1f}"
