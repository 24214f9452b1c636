"""A curated data set as one page: how much there is of what, how well reviewers agree, what was left out and why."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from tars_jax.annotation.curation.curate import Curated
from tars_jax.annotation.curation.executability import Reason
from tars_jax.annotation.curation.reviews import Agreement
from tars_jax.annotation.curation.statistics import Spread
from tars_jax.evaluation.replays import replays_html
from tars_jax.evaluation.report import ReportTable, page_html, replays_section

SHOWN = 4  # trajectories as strips
MOST_ROWS = 24  # of a table


def render_curation(curated: Curated, subtitle: str) -> str:
    """Renders the page of a curation."""
    told = curated.statistics
    work = [
        _counted("Left out", ("reason", "trajectories", "share"), curated.reasons, curated.read),
        _counted("Executed again", ("what came of it", "trajectories"), _executions(curated)),
        _agreement(curated.agreements),
        _counted("Reviews", ("what came of them", "trajectories"), curated.decisions),
        _counted("Thoughts refined", ("what became of them", "thoughts"), curated.thoughts),
        _counted("Instructions in other words", ("what became of them", "variants"), curated.variants),
    ]
    spreads = (
        _spread("steps of a trajectory", told.lengths),
        _spread("words of an instruction", told.instruction_words),
        _spread("words of a thought", told.thought_words),
    )
    contents = [
        ReportTable("Lengths", ("", "least", "median", "mean", "most"), spreads),
        _counted("Applications", ("application", "trajectories", "steps"), told.applications),
        _counted("Actions", ("action", "calls", "share"), told.actions),
        _counted("Tracks", ("track", "trajectories"), told.tracks),
    ]
    strips = replays_html((), curated.kept, SHOWN, ("", "Kept"))
    parts = [_headline(curated), _grid(work), _grid(contents), _strips(strips)]
    return page_html("Curated data set", subtitle, parts)


def _grid(tables: Sequence[ReportTable]) -> str:
    """Side by side where there is room, without those that have nothing to tell."""
    return f'<div class="pairs">{"".join(table.to_html() for table in tables if table.rows)}</div>'


def _strips(strips: str) -> str:
    """As a report shows episodes, in words that are true here."""
    return replays_section(strips).replace(
        "The first evaluation episodes as they came, not a selection. Each card is what the policy saw and read",
        "The first trajectories as they came, not a selection. Each card is what was seen and read",
    ).replace("<h2>Replays</h2>", "<h2>Trajectories</h2>")  # fmt: skip


def _headline(curated: Curated) -> str:
    told, left_out, kept = curated.statistics, len(curated.left_out), len(curated.kept)
    sentence = f"{kept:,} of {curated.read:,} trajectories are kept"
    if variants := len(curated.trajectories) - kept:
        sentence += f", and {variants:,} more say their instruction in other words"
    if left_out:
        reason, count = next(iter(curated.reasons.items()))
        share = "all of them" if count == left_out else f"{count:,} of them"
        sentence += f". Left out are {left_out:,}; the most frequent reason, for {share}, is: {reason}"
    facts = [
        ("steps", f"{told.steps:,}"),
        ("with a thought", f"{told.with_thought:,}"),
        ("solved", f"{told.solved:,} of {told.judged:,} judged"),
        *([("kappa", _kappa(curated.agreements[0]))] if curated.agreements else []),
    ]
    items = "".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>" for name, value in facts)
    return f'<section class="headline"><p class="verdict">{html.escape(sentence)}.</p><dl>{items}</dl></section>'


def _spread(name: str, spread: Spread) -> tuple[str, ...]:
    return (name, *(f"{value:,.3g}" for value in (spread.least, spread.median, spread.mean, spread.most)))


def _counted(
    title: str,
    head: Sequence[str],
    counts: Mapping[str, int] | Mapping[str, tuple[int, ...]],
    of: int = 0,
) -> ReportTable:
    """Rows of counts, with their shares of `of`, or of their sum, where the last column is for them."""
    total = of or sum(count for count in counts.values() if isinstance(count, int))
    rows: list[tuple[str | int, ...]] = []
    for name, count in list(counts.items())[:MOST_ROWS]:
        figures = count if isinstance(count, tuple) else (count,)
        share = [f"{figures[0] / total:.0%}"] if head[-1] == "share" and total else []
        rows.append((name, *(f"{figure:,}" for figure in figures), *share))
    more = len(counts) - MOST_ROWS
    return ReportTable(title, head, rows, f"{more} more are not shown." if more > 0 else "")


def _agreement(agreements: Sequence[Agreement]) -> ReportTable:
    note = "Cohen's kappa: agreement beyond what their shares of each verdict would give by chance; 1 is all of it."
    rows = [
        (" and ".join(each.reviewers), f"{each.count:,}", f"{each.observed:.0%}", _kappa(each))
        for each in agreements[:MOST_ROWS]
    ]
    return ReportTable("Reviewers", ("reviewers", "reviewed by both", "agree", "kappa"), rows, note)


def _kappa(agreement: Agreement) -> str:
    return "not defined" if agreement.kappa is None else f"{agreement.kappa:.2f}"


def _executions(curated: Curated) -> dict[str, int]:
    found = [each.reason for each in curated.executions.values()]
    return {reason.value: found.count(reason) for reason in Reason if reason in found}
